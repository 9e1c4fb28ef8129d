"""A ledger from Python: charged before anything is released, once for each id, and never overdrawn."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
import veracity as v

TABLE = {"age": list(range(20, 70)) * 40}


@pytest.fixture
def path(tmp_path):
    v.Ledger.create(tmp_path / "year.ledger", epsilon=3, delta=1e-6)
    return tmp_path / "year.ledger"


@pytest.fixture
def catalog(tmp_path):
    rows = "".join(f"{i},{('Male', 'Female')[i % 2]},{30 + i % 20}\n" for i in range(2000))
    (tmp_path / "people.csv").write_text("id,sex,hours\n" + rows)
    (tmp_path / "catalog.toml").write_text(
        """
        [tables.people]
        path = "people.csv"
        person = "id"
        rows_per_group = 1
        groups_per_person = 1
        [tables.people.columns]
        hours = { lower = 0, upper = 99 }
        sex = { keys = ["Male", "Female"] }
        """
    )
    return tmp_path / "catalog.toml"


def states(path):
    return [entry["state"] for entry in v.Ledger(path).history()]


def test_a_charge_is_on_disk_and_its_answer_comes_back_by_its_id(path):
    ledger = v.Ledger(path)
    before = ledger.remaining
    with ledger.charge(v.gaussian(noise_multiplier=8), "mean of hours", request_id="monday") as charge:
        assert charge.answer is None and charge.entry == 1 and states(path) == ["reserved"]
        charge.commit({"hours": 40.2})
    again = v.Ledger(path).charge(v.gaussian(noise_multiplier=8), "mean of hours", request_id="monday")
    assert again.answer == {"hours": 40.2} and again.entry == 1
    assert states(path) == ["answered"] and len(ledger.history()) == 1
    assert ledger.remaining.epsilon < before.epsilon and 0 < ledger.spent.fraction < 1
    assert ledger.spent.counted_in == "epsilon or mu²" and ledger.verify()["verdict"] == "confirmed"
    # Another question under an old id is refused, and costs nothing.
    with pytest.raises(v.InvalidInput, match="request"):
        ledger.charge(v.gaussian(noise_multiplier=4), "something else", request_id="monday")
    assert len(ledger.history()) == 1


def test_what_does_not_fit_is_refused_and_costs_nothing(path):
    ledger = v.Ledger(path)
    spent = ledger.status()["spent"]
    with pytest.raises(v.BudgetExceeded, match="budget"):
        ledger.charge(v.gaussian(noise_multiplier=0.1), "too much")
    with pytest.raises(v.NoTheorem, match="replace-one"):
        ledger.charge(v.gaussian(noise_multiplier=8).with_adjacency("replace-one"), "of other neighbours")
    assert ledger.status()["spent"] == spent and ledger.history() == []


def test_a_block_that_raises_stays_charged_and_has_no_answer(path):
    ledger = v.Ledger(path)
    with pytest.raises(KeyError), ledger.charge(v.gaussian(noise_multiplier=8), "lost", request_id="lost"):
        raise KeyError("lost")
    assert states(path) == ["abandoned"] and ledger.spent.fraction > 0
    with pytest.raises(v.Error, match="request"):
        ledger.charge(v.gaussian(noise_multiplier=8), "lost", request_id="lost")


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), {1, 2}, object(), b"bytes"])
def test_an_answer_that_json_does_not_hold_is_refused_and_can_be_kept_otherwise(path, answer):
    ledger = v.Ledger(path)
    charge = ledger.charge(v.gaussian(noise_multiplier=8), "mean")
    with pytest.raises(v.InvalidInput, match="JSON"):
        charge.commit(answer)
    charge.commit(1)
    with pytest.raises(v.InvalidInput):
        charge.commit(2)
    assert ledger.history()[0]["answer"] == 1


def test_a_killed_process_leaves_its_charge(path):
    program = (
        "import os, signal, sys, veracity as v\n"
        "v.Ledger(sys.argv[1]).charge(v.gaussian(noise_multiplier=8), 'mean', request_id='killed')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, os.fspath(path)])
    assert killed.returncode == -signal.SIGKILL and states(path) == ["reserved"]
    with pytest.raises(v.Error, match="request"):
        v.Ledger(path).charge(v.gaussian(noise_multiplier=8), "mean", request_id="killed")
    assert v.Ledger(path).verify()["verdict"] == "confirmed"


def charges(path, rounds):
    ledger, paid = v.Ledger(path), 0
    for _ in range(rounds):
        try:
            ledger.charge(v.laplace(noise_multiplier=2), "count").commit(0)
        except v.BudgetExceeded:
            continue
        paid += 1
    return paid


def test_processes_and_threads_together_do_not_overdraw(tmp_path):
    path = tmp_path / "race.ledger"
    v.Ledger.create(path, epsilon=3.1)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        waiting = pool.starmap_async(charges, [(path, 4)] * 3)
        paid = []
        threads = [threading.Thread(target=lambda: paid.append(charges(path, 4))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Each costs an epsilon of a half, rounded up.
        assert sum(paid) + sum(waiting.get()) == 6
    ledger = v.Ledger(path)
    assert len(ledger.history()) == 6 and ledger.remaining.epsilon < 0.5
    assert ledger.verify()["verdict"] == "confirmed"


def test_a_fork_does_not_use_its_parents_file(path):
    ledger = v.Ledger(path)
    child = os.fork()
    if child == 0:
        try:
            ledger.charge(v.gaussian(noise_multiplier=8), "mean")
            os._exit(1)
        except v.Error as error:
            os._exit(0 if "forked" in str(error) else 2)
    assert os.waitpid(child, 0)[1] == 0
    assert pickle.loads(pickle.dumps(ledger)).status() == ledger.status()


def test_a_query_is_charged_once_by_its_id(path, catalog, tmp_path):
    sql = "SELECT sex, AVG(hours) AS hours FROM people GROUP BY sex"
    ask = {"catalog": catalog, "epsilon": 0.5, "delta": 1e-7, "claim": tmp_path, "ledger": path}
    first = v.query(sql, request_id="spring", **ask)
    again = v.query(sql, request_id="spring", **ask)
    assert again.rows == first.rows and again.columns == first.columns and again.claim == first.claim
    assert again.claim_path == first.claim_path and first.entry == again.entry == 1
    assert len(v.Ledger(path).history()) == 1 and v.verify(first.claim_path).is_valid
    assert v.query(sql, **ask).rows != first.rows and len(v.Ledger(path).history()) == 2
    # Other bounds under the same id are another question.
    catalog.write_text(catalog.read_text().replace("upper = 99", "upper = 98"))
    with pytest.raises(v.InvalidInput, match="request id|catalog"):
        v.query(sql, request_id="spring", **ask)
    with pytest.raises(v.BudgetExceeded):
        v.query(sql, **{**ask, "epsilon": 50})
    assert len(v.Ledger(path).history()) == 2


def test_a_query_that_fails_stays_charged(path, catalog, tmp_path):
    class Broken:
        """Speaks as a connection of DuckDB does, and fails."""

        def execute(self, text):
            raise RuntimeError("a row: 42")

    Broken.__module__ = "duckdb"
    Broken.__name__ = "DuckDBPyConnection"
    with pytest.raises(v.Error) as failed:
        v.query("SELECT COUNT(*) AS n FROM people", catalog=catalog, epsilon=0.5, claim=tmp_path, ledger=path, engine=Broken())
    assert "42" not in str(failed.value) and states(path) == ["abandoned"]


def test_a_seed_and_a_ledger_exclude_each_other(path, catalog, tmp_path):
    sql = "SELECT COUNT(*) AS n FROM people"
    with pytest.raises(v.InvalidInput, match="seed"):
        v.query(sql, catalog=catalog, epsilon=0.5, claim=tmp_path, ledger=path, seed=1)
    with pytest.raises(v.InvalidInput, match="seed"):
        v.Session(TABLE, epsilon=1, ledger=path, seed=1)
    with pytest.raises(v.InvalidInput, match="request_id"):
        v.query(sql, catalog=catalog, epsilon=0.5, claim=tmp_path, request_id="x")
    assert v.Ledger(path).history() == []


def test_sessions_share_a_ledger(tmp_path):
    path = tmp_path / "year.ledger"
    v.Ledger.create(path, epsilon=1, analysts={"ada": 0.8, "bob": 0.5})
    ada = v.Session(TABLE, epsilon=5, name="people", ledger=path, analyst="ada")
    answer = ada.mean("age", lower=0, upper=100, epsilon=0.5)
    bob = v.Session(TABLE, epsilon=5, name="people", ledger=v.Ledger(path), analyst="bob")
    bob.group_by("age", ["20", "21"]).count(epsilon=0.25)
    # Ada has 0.3 left of her own, and 0.25 of what is left for all.
    with pytest.raises(v.BudgetExceeded):
        ada.count(epsilon=0.3)
    with pytest.raises(v.BudgetExceeded):
        bob.count(epsilon=0.3)
    ada.count(epsilon=0.2)
    entries = v.Ledger(path).history()
    assert [entry["what"] for entry in entries] == ["mean of age", "count by age", "count"]
    assert [entry["analyst"] for entry in entries] == ["ada", "bob", "ada"]
    assert float(answer) in entries[0]["answer"][0].values()
    with pytest.raises(v.InvalidInput, match="analyst"):
        v.Session(TABLE, epsilon=5, ledger=path).count(epsilon=0.01)
    with pytest.raises(v.InvalidInput, match="analyst"):
        v.Session(TABLE, epsilon=5, ledger=path, analyst="eve").count(epsilon=0.01)


def test_terms_are_checked(tmp_path):
    create = v.Ledger.create
    with pytest.raises(v.InvalidInput, match="rule"):
        create(tmp_path / "a", epsilon=1, rule="hope")
    with pytest.raises(v.InvalidInput, match="epsilon"):
        create(tmp_path / "a", epsilon=-1)
    with pytest.raises(v.InvalidInput, match="delta"):
        create(tmp_path / "a", epsilon=1, delta=2)
    assert not (tmp_path / "a").exists()
    ledger = create(tmp_path / "a", epsilon=1, rule="sum", dataset="people", unit="person")
    assert ledger.status()["rule"] == "sum" and "epsilon=1" in repr(ledger)
    with pytest.raises(v.Error):
        create(tmp_path / "a", epsilon=100)
    with pytest.raises(v.InvalidInput, match="dataset"):
        ledger.charge(v.laplace(noise_multiplier=2), "count", dataset="others")
    with pytest.raises(v.Error):
        v.Ledger(tmp_path / "missing")
    (tmp_path / "hostile").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 16)
    with pytest.raises(v.Error) as failed:
        v.Ledger(tmp_path / "hostile")
    assert "\n" not in str(failed.value)
