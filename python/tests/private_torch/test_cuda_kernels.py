"""The kernels for CUDA devices, without one: the interpreter of Triton runs them in a process of its own."""

import pathlib
import subprocess
import sys

import pytest


def test_kernels_add_exact_integers_and_bound_norms():
    pytest.importorskip("triton", reason="PyTorch has no Triton on this platform")
    script = pathlib.Path(__file__).with_name("cuda_kernels_interpreted.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines()[-1:] == ["ok"], done.stderr[-2000:]
