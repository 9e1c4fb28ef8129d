"""Runs a command beside a server of PostgreSQL, with the program of DuckDB at hand: `serve.py COMMAND …`.

The command finds the server's url in VERACITY_POSTGRES, and the program in VERACITY_DUCKDB.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import servers

if __name__ == "__main__":
    program = pathlib.Path(sys.executable).parent / "duckdb"
    with servers.Postgres() as server:
        environment = {**os.environ, "VERACITY_POSTGRES": server.url, "VERACITY_DUCKDB": str(program)}
        sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)
