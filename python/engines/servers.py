"""A PostgreSQL server and a Spark cluster of one master and two workers, on this machine, for as long as a test takes."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

BATCH = 10
"""How many cases Spark is asked in one job."""


class Missing(Exception):
    """A program that must be installed by hand."""


def postgres_program(name: str) -> str:
    """Debian keeps the programs of the server off the path."""
    found = shutil.which(name)
    if found is not None:
        return found
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if not folders:
        raise Missing(f"{name} is not there, expected the server of PostgreSQL; apt-get install postgresql")
    return str(folders[-1] / name)


def require_java() -> None:
    if shutil.which("java") is None:
        raise Missing("java is not there, expected OpenJDK 17 for Spark; apt-get install openjdk-17-jre-headless")


class Postgres:
    """A server of its own, in a temporary folder, on a Unix socket."""

    def __enter__(self) -> Postgres:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veracity-pg-", dir="/tmp"))
        # The server refuses to run as root.
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.prefix:
            shutil.chown(self.folder, "postgres")
        self.folder.chmod(0o755)
        data = self.folder / "data"
        # A collation that is not bytewise, so that a comparison that forgets its own shows.
        self._run("initdb", "-D", str(data), "-U", "veracity", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8",
                  "--locale-provider=icu", "--icu-locale=en-US")  # fmt: skip
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c synchronous_commit=off"
        self._run("pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(self.folder / "log"), "start")
        self.url = f"host={self.folder} user=veracity dbname=postgres"
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # Not a pipe: the server keeps what it inherits open.
        done = subprocess.run(
            [*self.prefix, postgres_program(program), *arguments], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed with {done.returncode}; the log is in {self.folder}")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Spark:
    """A standalone master and two workers on loopback, and a session."""

    def __enter__(self) -> Spark:
        require_java()
        import pyspark
        from pyspark.sql import SparkSession

        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veracity-spark-"))
        self.home = pathlib.Path(pyspark.__file__).parent
        self.killed = 0
        port = free_port()
        master = f"spark://127.0.0.1:{port}"
        self.master = self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._wait_for(port)
        workers = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder)]
        self.workers = [self._start("worker.Worker", *workers, master) for _ in range(2)]
        settings = {
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.executor.memory": "800m", "spark.cores.max": "2", "spark.executor.cores": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false",
        }  # fmt: skip
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master(master).appName("veracity engines")
        for name, setting in settings.items():
            builder = builder.config(name, setting)
        self.session: Any = builder.getOrCreate()
        return self

    def __exit__(self, *_: object) -> None:
        self.session.stop()
        for process in [*self.workers, self.master]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(self.home)}
        return subprocess.Popen(
            [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{role}", *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A worker and its executors are one group, and end together.
            start_new_session=True,
        )

    def _wait_for(self, port: int) -> None:
        for _ in range(240):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.25)
        raise RuntimeError("the master of Spark does not listen after 60 s")

    def compiles(self, compiles: bool) -> None:
        """Whether expressions are compiled or interpreted."""
        self.session.conf.set("spark.sql.codegen.wholeStage", str(compiles).lower())
        self.session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if compiles else "NO_CODEGEN")

    def ask(self, cases: list[Any], kill: bool) -> list[Any]:
        """The answers of some cases, from one job; a case that cannot be planned gets what was said."""
        found: list[Any] = [[[] for _ in statements] for _, statements in cases]
        parts = []
        for at, (tables, statements) in enumerate(cases):
            for name, schema, rows in tables:
                self.session.createDataFrame(rows, schema).createOrReplaceTempView("`" + name.replace("`", "``") + "`")
            try:
                planned = [self._part(at, place, statement) for place, statement in enumerate(statements)]
            except Exception as error:
                found[at] = f"{type(error).__name__}: {error}"
            else:
                parts.extend(planned)
        try:
            rows = self._collect(parts, kill)
        except Exception as error:
            if len(cases) == 1:
                return [f"{type(error).__name__}: {error}"]
            # One of them fails: each by itself.
            return [self.ask([case], False)[0] for case in cases]
        for at, place, keys, numbers in rows:
            found[at][place].append([list(keys), list(numbers)])
        return [answers if isinstance(answers, str) else [sorted(rows) for rows in answers] for answers in found]

    def _part(self, at: int, place: int, statement: dict[str, Any]) -> Any:
        """A statement with arrays for its columns, so that one job has many."""
        asked = self.session.sql(statement["sql"])
        names = [f"x{column}" for column in range(len(asked.columns))]
        keys, numbers = names[: statement["keys"]], names[statement["keys"] :]
        kinds = [field.dataType.simpleString() for field in asked.schema.fields]
        if kinds != ["string"] * len(keys) + ["bigint"] * len(numbers):
            raise TypeError(f"columns are {kinds}, expected texts and whole numbers")
        return asked.toDF(*names).selectExpr(
            f"{at} AS at", f"{place} AS place", f"CAST(array({', '.join(keys)}) AS ARRAY<STRING>) AS keys", f"array({', '.join(numbers)}) AS numbers"
        )

    def _collect(self, parts: list[Any], kill: bool) -> list[Any]:
        if not parts:
            return []
        while len(parts) > 1:
            # A tree, not a chain: plans are walked by recursion.
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [one.unionAll(two) for one, two in pairs] + parts[len(parts) // 2 * 2 :]
        if not kill:
            return list(parts[0].collect())
        return self._collect_and_kill(parts[0])

    def _collect_and_kill(self, part: Any) -> list[Any]:
        rows: list[Any] = []
        failures: list[Exception] = []

        def collect() -> None:
            try:
                rows.extend(part.collect())
            except Exception as error:
                failures.append(error)

        tracker = self.session.sparkContext.statusTracker()
        asked = threading.Thread(target=collect)
        asked.start()
        while asked.is_alive() and not tracker.getActiveJobsIds():
            time.sleep(0.02)
        time.sleep(0.5)
        os.killpg(self.workers[0].pid, signal.SIGKILL)
        # It counts where the job was still under way.
        self.killed += int(asked.is_alive())
        self.workers[0].wait(30)
        asked.join()
        if failures:
            raise failures[0]
        return rows


def main() -> int:
    """Says what is missing, one line each."""
    missing = []
    for check in (lambda: postgres_program("initdb"), lambda: postgres_program("pg_ctl"), require_java):
        try:
            check()
        except Missing as what:
            missing.append(str(what))
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
