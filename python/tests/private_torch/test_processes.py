"""Trainings in several processes: the same weights and the same claim for any number of them, also after one was killed."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import veracity as v

HERE = pathlib.Path(__file__).parent


def group(folder, count, kill_at=-1, attempt=0):
    """Run one training in so many processes; the exit codes. What waits for a killed process is ended too."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    command = [sys.executable, str(HERE / "one_process.py")]
    processes = [
        subprocess.Popen([*command, str(rank), str(count), str(folder), str(kill_at), str(attempt)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(count)
    ]
    codes = []
    for process in reversed(processes):
        if codes and codes[0] == -signal.SIGKILL:
            process.kill()
        _, errors = process.communicate(timeout=200)
        codes.append(process.returncode)
        assert process.returncode in (0, -signal.SIGKILL), errors
    return codes


def told(folder, count):
    found = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(count)]
    assert all(one == found[0] for one in found), "processes of one group differ"
    return found[0]


def test_one_two_and_four_processes_give_the_same_weights_and_claim(tmp_path):
    found = {}
    for count in (1, 2, 4):
        folder = tmp_path / str(count)
        folder.mkdir()
        group(folder, count)
        found[count] = told(folder, count)
        assert (folder / "out/model.safetensors").exists()
    assert found[1] == found[2] == found[4]
    files = [(tmp_path / str(count) / "out/model.safetensors").read_bytes() for count in (1, 2, 4)]
    assert files[0] == files[1] == files[2]


def test_a_killed_process_is_restarted_from_the_checkpoint_without_a_second_charge(tmp_path):
    ledger = v.Ledger.create(tmp_path / "year.ledger", epsilon=10, delta=1e-2)
    assert -signal.SIGKILL in group(tmp_path, 2, kill_at=3)
    assert not (tmp_path / "out").exists() and len(ledger.history()) == 1
    # Restarted with another number of processes.
    group(tmp_path, 1, attempt=1)
    assert len(ledger.history()) == 1 and ledger.history()[0]["answer"]["steps"] == 5
    assert v.verify(tmp_path / "out/claim.json").is_valid
