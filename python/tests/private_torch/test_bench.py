"""The benchmark prints each row as it comes, and survives a row that fails."""

import json
import time

from veracity.torch import bench
from veracity.torch._bench_models import tasks


def test_rows_and_ratios_are_printed_and_a_failing_row_says_why(capsys, monkeypatch):
    def fail(task):
        raise RuntimeError("planted")

    monkeypatch.setitem(bench.ROWS, "opacus hooks", fail)
    task = tasks(["mlp"])["mlp"]
    bench.Timer("mlp", task, time.perf_counter).run(["plain", "opacus hooks", "veracity"], 2)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r.get("row") for r in rows] == ["opacus hooks", "plain", "veracity", None]
    assert rows[0]["error"] == "RuntimeError: planted"
    assert rows[-1]["veracity / plain"] > 0 and rows[1]["records per second"] > 0
