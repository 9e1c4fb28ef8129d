"""Asks Intel's MKL for products whose bits do not depend on the place of a row in memory.

By default MKL picks other instructions for rows at the edge of a block or off an alignment, so a record's gradient has other bits in another
place of the batch. MKL reads the wish once, at its first product. If a program multiplies before it imports this module, the probe finds out.
"""

from __future__ import annotations

import os

import torch

REMEDY = "import veracity.torch before the first product, or set MKL_CBWR=AVX2,STRICT in the environment"


def ask_for_equal_bits() -> None:
    """Set MKL's strict mode, unless the environment already chose one."""
    capability = torch.backends.cpu.get_cpu_capability()
    if torch.backends.mkl.is_available() and capability in ("AVX2", "AVX512"):
        os.environ.setdefault("MKL_CBWR", f"{capability},STRICT")


ask_for_equal_bits()
