"""Real clusters on one machine, with workers killed by signal 9 in the middle: the certificate is that of one process, to the bit.

`cargo xtask reproduce clusters` runs Ray and Slurm; Dask and submitit are run by hand. Slurm needs slurm-wlm and munge to be installed,
and the rights of root; a one-node cluster with a configuration of its own is started below the folder that is given, and stopped again.

    python clusters.py slurm --veracity target/release/veracity --folder /tmp/slurm --rounds 10
    python clusters.py ray --folder /tmp/ray --rounds 10
    python clusters.py dask --folder /tmp/dask --rounds 10
    python clusters.py submitit --folder /tmp/submitit --rounds 10
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

FILES = ("certificate.json", "trials.csv")

#: A program that leaves one record with Gaussian noise as its score, from its seed alone.
TRAINER = """\
sleep 0.02
awk -v world="$1" -v seed="$2" 'BEGIN {
    srand(seed % 2147483647); a = rand(); b = rand()
    printf "%.12g\\n", (world == "in") + sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b)
}' > "$3"
"""


def read(folder: Path) -> list[bytes]:
    """What must be the same."""
    return [(folder / name).read_bytes() for name in FILES]


class Slurm:
    """One node with two CPUs, for as long as a `with` lasts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._started = folder, []
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> Slurm:
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)
        munge = self.folder / "munge.socket"
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            ports = one.getsockname()[1], two.getsockname()[1]
        host = socket.gethostname().partition(".")[0]
        (self.folder / "slurm.conf").write_text(
            f"""\
ClusterName=audits
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}
CryptoType=crypto/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
SlurmctldLogFile={self.folder}/log/slurmctld.log
SlurmdLogFile={self.folder}/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
        )
        self._start(
            ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}"]
            + [f"--pid-file={self.folder}/munge.pid", f"--log-file={self.folder}/log/munge.log"]
            + [f"--seed-file={self.folder}/munge.seed"]
        )
        _until(munge.exists, "munged")
        self._start(["slurmctld", "-D"])
        _until(lambda: self._says("scontrol", "ping").find("UP") >= 0, "slurmctld")
        self._start(["slurmd", "-D", "-N", host])
        _until(lambda: self._says("sinfo", "-h", "-o", "%T").strip() in ("idle", "mixed"), "slurmd")
        return self

    def _start(self, words: list[str]) -> None:
        log = (self.folder / "log" / f"{words[0]}.out").open("wb")
        self._started.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log))

    def _says(self, *words: str) -> str:
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False).stdout

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            process.terminate()
        for process in self._started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _until(holds, what: str) -> None:
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    raise SystemExit(f"{what} does not start; its log is in the folder")


def slurm(veracity: Path, folder: Path, rounds: int) -> int:
    """How many rounds had the bits of one process."""
    folder.mkdir(parents=True)
    trainer = folder / "trainer.sh"
    trainer.write_text(TRAINER)
    line = [str(veracity), "audit", "--command", f"sh {trainer} {{world}} {{seed}} {{out}}", "--claim-noise-multiplier", "1"]
    line += ["--trials", "200"]
    subprocess.run([*line, "--out", str(folder / "whole")], check=True, stdout=subprocess.DEVNULL)
    whole, same = read(folder / "whole"), 0
    with Slurm(folder / "cluster") as cluster:
        for at in range(rounds):
            out = folder / f"round-{at}"
            killer = Killer(str(out), at)
            killer.start()
            out.mkdir()
            # The job array of docs/audit.md, submitted again until every shard is whole.
            script, task = out / "audit.sh", '"$SLURM_ARRAY_TASK_ID'
            shard = f'--shard {task}/4" --out {shlex.quote(str(out / "shard-"))}{task}" --resume'
            script.write_text(f"#!/bin/sh\nexec {shlex.join(line)} {shard}\n")
            submit = ["sbatch", "--wait", "--array=0-3", f"--output={out}/shard-%a.log", "--open-mode=append", str(script)]
            merge = [str(veracity), "audit", "merge", *(str(out / f"shard-{task}") for task in range(4)), "--out", str(out / "audit")]
            for _ in range(3):
                subprocess.run(submit, env=cluster.environment, stdout=subprocess.DEVNULL)
                done = subprocess.run(merge, capture_output=True, text=True)
                if done.returncode == 0:
                    break
            killer.join()
            agrees = done.returncode == 0 and read(out / "audit") == whole and killer.killed is not None
            print(f"slurm, round {at}: killed {killer.killed}, {'the same bits' if agrees else 'NOT THE SAME'}", done.stderr.strip(), flush=True)
            same += agrees
    return same


class Killer(threading.Thread):
    """Kills one task of an audit in the middle of its trials, found by the folder that it writes to."""

    def __init__(self, out: str, seed: int) -> None:
        super().__init__(daemon=True)
        self.out, self.killed = out, None
        self._draw = random.Random(seed)

    def run(self) -> None:
        part = f"{self.out}/shard-{self._draw.randrange(2)}"
        lines = self._draw.randrange(3, 30)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            kept = Path(part, "trials.part")
            if kept.exists() and kept.read_bytes().count(b"\n") >= lines:
                for pid in _processes(part):
                    os.kill(pid, signal.SIGKILL)
                    self.killed = f"{Path(part).name} after {lines} trials"
                    return
            time.sleep(0.01)


def _processes(folder: str) -> list[int]:
    """The processes of an audit's shard: veracity with the folder among its words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if folder.encode() in words and b"--shard" in words:
            found.append(int(entry.name))
    return found


@contextlib.contextmanager
def ray(folder: Path):
    """An executor of Ray with two CPUs."""
    import ray as cluster

    import veracity as v

    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    cluster.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": paths})
    yield v.executors.Ray()
    cluster.shutdown()


@contextlib.contextmanager
def dask(folder: Path):
    """A client of Dask with two worker processes."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "local_directory": str(folder)}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def submitit(folder: Path):
    """An executor of submitit: a process for each shard, as its jobs on Slurm are."""
    import submitit as cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    executor = cluster.LocalExecutor(folder=folder / "jobs")
    executor.update_parameters(timeout_min=10)
    yield executor


def executed(name: str, folder: Path, rounds: int) -> int:
    """How many rounds had the bits of one process."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import audited

    import veracity as v

    folder.mkdir(parents=True)
    settings = dict(claim=v.gaussian(noise_multiplier=1), delta=1e-5, trials=300, description="noise")
    # The same function, which nothing kills.
    v.audit(audited.KilledOnce(folder, of=2**40), **settings, out=folder / "whole")
    whole, same = read(folder / "whole"), 0
    with {"ray": ray, "dask": dask, "submitit": submitit}[name](folder) as executor:
        for at in range(rounds):
            marks = folder / f"marks-{at}"
            marks.mkdir()
            # The function kills its own worker, once, in the trials that the round draws.
            function = audited.KilledOnce(marks, of=100 + at)
            v.audit(function, **settings, executor=executor, shards=10, out=folder / f"round-{at}")
            kills = len(list(marks.iterdir()))
            agrees = kills > 0 and read(folder / f"round-{at}") == whole
            print(f"{name}, round {at}: {kills} workers killed, {'the same bits' if agrees else 'NOT THE SAME'}", flush=True)
            same += agrees
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cluster", choices=["slurm", "ray", "dask", "submitit"])
    parser.add_argument("--veracity", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    if asked.cluster == "slurm":
        same = slurm(asked.veracity.resolve(), folder, asked.rounds)
    else:
        same = executed(asked.cluster, folder, asked.rounds)
    print(f"{asked.cluster}: {same} of {asked.rounds} rounds with a worker killed have the bits of one process")
    sys.exit(0 if same == asked.rounds else 1)


if __name__ == "__main__":
    main()
