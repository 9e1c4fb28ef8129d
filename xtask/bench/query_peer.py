"""What `cargo xtask bench query` has beside us, one JSON object on a line.

    query_peer.py postgres FILE           a server with the table of a CSV file, until its input ends
    query_peer.py smartnoise FILE QUERY   seconds of a query on a data frame, without reading the file
"""

from __future__ import annotations

import json
import pathlib
import resource
import subprocess
import sys
import time


def postgres(file: str) -> int:
    from servers import Failed, Postgres, postgres_program

    try:
        server = Postgres().__enter__()
    except Failed as what:
        print(what, file=sys.stderr)
        return 1
    try:
        columns = "person bigint, region text, product text, payment text, amount double precision"
        script = f"CREATE TABLE purchases ({columns});\n\\copy purchases FROM '{file}' CSV HEADER\nANALYZE purchases;\n"
        subprocess.run(
            [postgres_program("psql"), "--no-psqlrc", "--quiet", server.url], input=script.encode(), check=True, stdout=sys.stderr
        )
        pid = int((pathlib.Path(server.folder) / "data/postmaster.pid").read_text().splitlines()[0])
        print(json.dumps({"url": server.url, "pid": pid}), flush=True)
        sys.stdin.read()
    finally:
        server.__exit__()
    return 0


def smartnoise(file: str, query: str) -> int:
    import pandas
    from snsql import Privacy, from_df

    frame = pandas.read_csv(file)
    columns = {
        "person": {"type": "int", "private_id": True},
        "region": {"type": "string"},
        "product": {"type": "string"},
        "payment": {"type": "string"},
        "amount": {"type": "float", "lower": 0.0, "upper": 100.0},
    }
    limits = {"row_privacy": False, "max_ids": 8, "sample_max_ids": True, "clamp_counts": True, "rows": len(frame)}
    metadata = {"": {"shop": {"purchases": {**limits, **columns}}}}
    reader = from_df(frame, metadata=metadata, privacy=Privacy(epsilon=1.0, delta=1e-6))
    begun = time.perf_counter()
    rows = reader.execute(query)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": round(seconds, 3), "peak_kib": peak, "rows": len(rows)}))
    return 0


if __name__ == "__main__":
    sys.exit({"postgres": postgres, "smartnoise": smartnoise}[sys.argv[1]](*sys.argv[2:]))
