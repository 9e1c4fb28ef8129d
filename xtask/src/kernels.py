"""Compiles the kernels of crates/cuda to PTX by NVRTC, on any machine: neither a GPU nor a driver nor a host compiler is needed.

usage: kernels.py FOLDER [--check]   With --check nothing is written: a program that is not what its source gives is named.
"""

import ctypes
import importlib.util
import pathlib
import re
import sys


def compiler():
    folder = pathlib.Path(importlib.util.find_spec("nvidia.cuda_nvrtc").submodule_search_locations[0])
    found = sorted(folder.glob("lib/libnvrtc.so.*")) + sorted(folder.glob("bin/nvrtc64*.dll"))
    return ctypes.CDLL(str(found[0]))


def programs(source):
    """A program for every kernel, named by the macro that selects it."""
    return [name.lower() for name in re.findall(r"^#(?:el)?if defined\((\w+)\)", source, re.MULTILINE)]


def text(nvrtc, program, what):
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value


def compiled(nvrtc, folder, name):
    headers = {path.name: path.read_bytes() for path in sorted(folder.glob("*.cuh"))}
    program = ctypes.c_void_p()
    names = (ctypes.c_char_p * len(headers))(*[name.encode() for name in headers])
    contents = (ctypes.c_char_p * len(headers))(*headers.values())
    source = (folder / "train.cu").read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"train.cu", len(headers), contents, names)
    options = [b"--gpu-architecture=compute_80", b"--std=c++17", b"--fmad=false", b"-default-device", f"-D{name.upper()}".encode()]
    code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if code != 0:
        sys.exit(f"{name} does not compile:\n{text(nvrtc, program, 'ProgramLog').decode()}")
    return text(nvrtc, program, "PTX")


def main():
    folder, check = pathlib.Path(sys.argv[1]), "--check" in sys.argv[2:]
    nvrtc = compiler()
    names = programs((folder / "train.cu").read_text())
    for name in names:
        path, ptx = folder / "ptx" / f"{name}.ptx", compiled(nvrtc, folder, name)
        if not check:
            path.write_bytes(ptx)
            print(f"{path.name}: {len(ptx)} bytes")
        elif not path.exists() or path.read_bytes() != ptx:
            print(f"crates/cuda/kernels/ptx/{path.name} is not what its source gives: run cargo xtask kernels")
    for path in (folder / "ptx").glob("*.ptx"):
        if path.stem not in names:
            print(f"crates/cuda/kernels/ptx/{path.name} has no source")


if __name__ == "__main__":
    main()
