"""`cargo xtask bench python`: the files of rows beside this one, as one table in Markdown.

A file of rows has a function `rows(rust)`, which yields (what, tool, milliseconds, what it found, times ours or None).
"""

import importlib
import sys
import warnings


def main(rust):
    warnings.simplefilter("ignore")
    print("| what | tool | ms | found | time ÷ ours |\n|---|---|---|---|---|", flush=True)
    # Accounting first; audits.py is a program of its own, which needs the command line.
    for name in ("accounting", "tables", "adult"):
        for what, tool, took, found, ratio in importlib.import_module(name).rows(rust):
            shown = "" if ratio is None else f"{ratio:.3g}"
            print(f"| {what} | {tool} | {took:.3f} | {found} | {shown} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
