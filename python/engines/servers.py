"""A PostgreSQL server and a Spark cluster of one master and two workers, on this machine, for as long as a test takes.

Run as a program it sees to what they need: packages of the system are installed where apt-get can, or a line says which.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any


class Failed(Exception):
    """Something that the engines need is not there, or does not come in time."""


@contextlib.contextmanager
def limit(seconds: int, what: str) -> Iterator[None]:
    """Interrupts what takes too long; in the main thread alone."""

    def interrupt(*_: object) -> None:
        raise Failed(f"{what} does not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def stop_when_told() -> None:
    """Ends by an exception when told to, so that servers are stopped on the way out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


def postgres_program(name: str) -> str:
    """Debian keeps the programs of the server off the path."""
    found = shutil.which(name)
    if found is not None:
        return found
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if not folders:
        raise Failed(f"{name} is not there, expected the server of PostgreSQL; apt-get install postgresql")
    return str(folders[-1] / name)


def require_java() -> None:
    remedy = "expected Java 17 or later for Spark; apt-get install default-jre-headless"
    if shutil.which("java") is None:
        raise Failed(f"java is not there, {remedy}")
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=60).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        raise Failed(f"java is {version[1] if version else 'of no known version'}, {remedy}")


class Postgres:
    """A server of its own, in a temporary folder, on a Unix socket."""

    def __enter__(self) -> Postgres:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veracity-pg-", dir="/tmp"))
        # The server refuses to run as root.
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.prefix:
            shutil.chown(self.folder, "postgres")
        self.folder.chmod(0o755)
        data, log = self.folder / "data", self.folder / "log"
        try:
            # A collation that is not bytewise, so that a comparison that forgets its own shows.
            self._run("initdb", "-D", str(data), "-U", "veracity", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8",
                      "--locale-provider=icu", "--icu-locale=en-US")  # fmt: skip
            options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c synchronous_commit=off"
            self._run("pg_ctl", "-D", str(data), "-w", "-t", "60", "-o", options, "-l", str(log), "start")
        except BaseException:
            self.__exit__()
            raise
        self.url = f"host={self.folder} user=veracity dbname=postgres"
        return self

    def __exit__(self, *_: object) -> None:
        # One that never started cannot be stopped.
        with contextlib.suppress(Failed):
            self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-t", "60", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self.prefix, postgres_program(program), *arguments]
        try:
            # No pipe: the server keeps what it inherits open.
            done = subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=90)
        except subprocess.TimeoutExpired:
            raise Failed(f"{program} of PostgreSQL does not end within 90 s") from None
        if done.returncode != 0:
            raise Failed(f"{program} of PostgreSQL failed with {done.returncode}")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Spark:
    """A standalone master and two workers on loopback, and a session."""

    # Few cores: a collector with threads of its own would take them from the work.
    JAVA = "-XX:+UseSerialGC"

    def __enter__(self) -> Spark:
        require_java()
        import pyspark

        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="veracity-spark-"))
        self.home = pathlib.Path(pyspark.__file__).parent
        self.servers: list[subprocess.Popen[bytes]] = []
        self.session: Any = None
        try:
            with limit(300, "the start of Spark"):
                self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        from pyspark.sql import SparkSession

        port = free_port()
        master = f"spark://127.0.0.1:{port}"
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._wait_for(port)
        for _ in range(2):
            self._start("worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g",
                        "--work-dir", str(self.folder), master)  # fmt: skip
        settings = {
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": self.JAVA, "spark.executor.extraJavaOptions": self.JAVA,
            "spark.driver.memory": "2g", "spark.executor.memory": "800m", "spark.cores.max": "2", "spark.executor.cores": "1",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            # Jobs of two threads side by side.
            "spark.scheduler.mode": "FAIR",
            # A worker's python is else the first on its path, which may be of another version.
            "spark.pyspark.python": sys.executable, "spark.pyspark.driver.python": sys.executable,
            "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2",
            # Small tables would else be evaluated on the driver, while the query is planned.
            "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"), "spark.local.dir": str(self.folder / "local"),
            "spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false",
        }  # fmt: skip
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master(master).appName("veracity engines")
        for name, setting in settings.items():
            builder = builder.config(name, setting)
        self.session = builder.getOrCreate()

    def __exit__(self, *_: object) -> None:
        if self.session is not None:
            # A driver that hangs must not keep its workers alive.
            stopping = threading.Thread(target=self.session.stop, daemon=True)
            stopping.start()
            stopping.join(30)
        for process in self.servers:
            end(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill_worker(self) -> None:
        """Kills a worker and its executors on the spot."""
        worker = self.servers[1]
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(30)

    def _start(self, role: str, *arguments: str) -> None:
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_JAVA_OPTS": f"{self.JAVA} -XX:TieredStopAtLevel=1",
        }
        process = subprocess.Popen(
            [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{role}", *arguments],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A worker and its executors are one group, and end together.
            start_new_session=True,
        )
        self.servers.append(process)

    def _wait_for(self, port: int) -> None:
        while True:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    return
            if self.servers[0].poll() is not None:
                raise Failed(f"the master of Spark ends with {self.servers[0].returncode} before it listens")
            time.sleep(0.25)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server and its group; by force after a while."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


def missing() -> list[tuple[str, str]]:
    """What is missing: the package that has it, and a line for whom it concerns."""
    checks = [
        ("postgresql", lambda: postgres_program("initdb")),
        ("postgresql", lambda: postgres_program("pg_ctl")),
        ("default-jre-headless", require_java),
    ]
    found = []
    for package, check in checks:
        try:
            check()
        except Failed as what:
            found.append((package, str(what)))
    return found


def install(packages: list[str]) -> None:
    """By apt-get, of the newest list there is."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    steps = [["update"], ["install", "--yes", "--no-install-recommends", *packages]]
    for step in steps:
        # Files of settings that were changed by hand stay: nobody is there to be asked.
        options = ["-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Options::=--force-confold"]
        command = ["apt-get", "--quiet", "--quiet", *options, *step]
        try:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            raise Failed(f"apt-get {step[0]} does not end within 600 s; install {' '.join(packages)} by hand") from None
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Failed(f"apt-get {step[0]} failed with {done.returncode} ({said}); install {' '.join(packages)} by hand")


def main() -> int:
    """Sees to the packages; what is missing for good is said, one line each."""
    packages = sorted({package for package, _ in missing()})
    if packages and os.geteuid() == 0 and shutil.which("apt-get") is not None:
        start = time.monotonic()
        try:
            install(packages)
        except Failed as what:
            print(f"packages: {what}")
            return 1
        print(f"packages: apt-get installed {' '.join(packages)} ({time.monotonic() - start:.0f} s)")
    # What is there now counts, whatever apt-get said.
    for _, line in (still := missing()):
        print(f"packages: {line}")
    return 1 if still else 0


if __name__ == "__main__":
    sys.exit(main())
