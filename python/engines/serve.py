"""Runs a command beside a server of PostgreSQL, with the program of DuckDB at hand: `serve.py SECONDS COMMAND …`.

The command finds the server's url in VERACITY_POSTGRES, and the program in VERACITY_DUCKDB. It is ended when its seconds are over, with
all that it started.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import servers


def main() -> int:
    servers.stop_when_told()
    program = pathlib.Path(sys.executable).parent / "duckdb"
    try:
        with servers.Postgres() as server:
            environment = {**os.environ, "VERACITY_POSTGRES": server.url, "VERACITY_DUCKDB": str(program)}
            # A group of its own, so that what it starts can be ended with it.
            command = subprocess.Popen(sys.argv[2:], env=environment, start_new_session=True)
            try:
                return command.wait(float(sys.argv[1]))
            finally:
                servers.end(command)
    except subprocess.TimeoutExpired:
        print(f"{' '.join(sys.argv[2:])}: does not end within {sys.argv[1]} s")
    except servers.Failed as error:
        print(f"postgres: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
