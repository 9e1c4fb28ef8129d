"""Warnings about guarantees that hold and still say little."""

from __future__ import annotations

import warnings
from typing import Any

from ._errors import PrivacyWarning


def warn_of_large_delta(delta: Any, size: int, stacklevel: int) -> None:
    """Warn if delta is above 1/n. The message does not contain n, which may be private."""
    if float(delta) * size > 1:
        warnings.warn(
            f"delta is {float(delta):g}, above 1/n for the n records: a mechanism that publishes the whole record of one in n people "
            "has that delta; use delta ≤ 1/n, for example 1/n^1.1",
            PrivacyWarning,
            stacklevel=stacklevel + 1,
        )
