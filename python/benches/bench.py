"""`cargo xtask bench python`: every file of rows beside this one, as one table in Markdown.

A file of rows has a function `rows(rust)`, which yields (what, tool, milliseconds, what it found, times ours or None).
"""

import importlib
import pathlib
import sys
import warnings


def main(rust):
    warnings.simplefilter("ignore")
    here = pathlib.Path(__file__).parent
    print("| what | tool | ms | found | time ÷ ours |\n|---|---|---|---|---|", flush=True)
    for file in sorted(here.glob("*.py")):
        if file.name == "bench.py":
            continue
        for what, tool, took, found, ratio in importlib.import_module(file.stem).rows(rust):
            shown = "" if ratio is None else f"{ratio:.3g}"
            print(f"| {what} | {tool} | {took:.3f} | {found} | {shown} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
