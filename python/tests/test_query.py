"""Questions in SQL: answers, engines of somebody else's, and what is refused."""

import json

import pytest
import veracity as v

PEOPLE = 3000


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{i},{('Male', 'Female')[i % 2]},{30 + i % 20},t{i % 3}\n" for i in range(PEOPLE))
    (tmp_path / "people.csv").write_text("id,sex,hours,town\n" + rows)
    (tmp_path / "catalog.toml").write_text(
        """
        [tables.people]
        path = "people.csv"
        person = "id"
        rows_per_group = 1
        groups_per_person = 1
        [tables.people.columns]
        hours = { lower = 0, upper = 99 }
        sex = { keys = ["Male", "Female", "Other"] }
        town = { type = "text" }
        """
    )
    return tmp_path


def ask(folder, sql, **more):
    more = {"epsilon": 5, "claim": folder / "claims/", **more}
    (folder / "claims").mkdir(exist_ok=True)
    return v.query(sql, catalog=folder / "catalog.toml", **more)


def test_answers_have_error_bars_and_a_claim_that_stands(folder):
    found = ask(folder, "SELECT sex, AVG(hours) AS hours, COUNT(*) AS n FROM people GROUP BY sex", seed=1)
    assert [row["sex"] for row in found.rows] == ["Male", "Female", "Other"] and len(found) == 3
    for row, hours in zip(found.rows, (39, 40), strict=False):
        assert abs(row["hours"]["answer"] - hours) <= 2 * row["hours"]["error_bar"]
        assert abs(row["n"]["answer"] - PEOPLE / 2) <= 3 * row["n"]["error_bar"]
    assert found.epsilon <= 5 and v.read_claim(found.claim_path) == found.claim
    assert json.loads(found.claim.to_json())["unit"] == "person"
    assert list(found.to_pandas().columns) == ["sex", "hours", "hours ±", "n", "n ±"]
    assert "<table>" in found._repr_html_() and "epsilon" in repr(found)
    # Of the system's entropy the claim is for release.
    again = ask(folder, "SELECT COUNT(*) FROM people")
    assert v.verify(again.claim_path).is_valid


def test_an_engine_of_another_package_gives_the_same_answers(folder):
    """Statements are run by somebody else: here by a connection that speaks as DuckDB's does, over answers of our own engine."""
    sql = "SELECT town, SUM(hours) AS s, MEDIAN(hours) AS m FROM people GROUP BY town ORDER BY town"
    ours = ask(folder, sql, delta=1e-6, seed=3)
    asking = v._veracity._Query(sql, str(folder / "catalog.toml"), 5, delta=1e-6).begin(
        str(folder / "claims"), None, 3
    )
    statements = asking.statements("duckdb")
    assert len(statements) == 2 and all("sha256(" in text for text, _, _ in statements)
    hours = [[30 + i % 20 for i in range(PEOPLE) if i % 3 == town] for town in range(3)]
    unit = 2.0**-24
    totals = [([f"t{town}"], [round(sum(values) / unit), len(values)]) for town, values in enumerate(hours)]
    tally = [
        ([f"t{town}"], [round(hour / unit), values.count(hour)]) for town, values in enumerate(hours) for hour in sorted(set(values))
    ]
    names, rows, _, _, _ = asking.finish([totals, tally])
    assert names == ["town", "s", "m"]
    assert [[cell[1] for cell in row[1:]] for row in rows] == [[row[n]["answer"] for n in ("s", "m")] for row in ours.rows]


def test_what_is_not_allowed_is_refused_in_one_line(folder):
    for sql, word in [
        ("SELECT hours FROM people", "aggregate"),
        ("SELECT SUM(hours / hours) FROM people", "division"),
        ("SELECT id, COUNT(*) FROM people GROUP BY id", "privacy ID"),
        ("SELECT COUNT(*) FROM nobody", "catalog"),
        ("SELECT town, COUNT(*) FROM people GROUP BY town", "delta"),
    ]:
        with pytest.raises(v.InvalidInput, match=word) as refused:
            ask(folder, sql)
        assert "\n" not in str(refused.value)
    with pytest.raises(v.InvalidInput, match="engine"):
        ask(folder, "SELECT COUNT(*) FROM people", engine=object())
    with pytest.raises(v.FileError):
        v.query("SELECT COUNT(*) FROM people", catalog=folder / "none.toml", epsilon=1)


def test_a_failing_engine_tells_no_value(folder):
    class Broken:
        __module__ = "duckdb"

        def execute(self, text):
            raise RuntimeError("could not convert 'Eve Smith'")

    with pytest.raises(v.Error) as told:
        ask(folder, "SELECT COUNT(*) FROM people", engine=Broken())
    assert "Eve" not in str(told.value) and "RuntimeError" in str(told.value)


def test_a_preview_reads_nothing(folder):
    (folder / "people.csv").unlink()
    found = v.preview_query(
        "SELECT sex, AVG(hours) FROM people GROUP BY sex", catalog=folder / "catalog.toml", epsilon=1, rows=500
    )
    assert found.epsilon <= 1 and found.columns[0]["name"] == "AVG(hours)" and 0 < found.columns[0]["error_bar"] < 99
    assert found.threshold is None and found.mechanism.epsilon(0) <= 1


def test_a_grouping_without_a_key_has_none_there(folder):
    """Rows of coarser groupings have None in the keys that they lack; caps and rows that are left out are on the result."""
    sql = "SELECT sex, GROUPING(sex) AS level, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex)"
    result = ask(folder, sql, seed=1)
    assert [(row["sex"], row["level"]) for row in result.rows[-1:]] == [(None, "1")]
    assert result.rows_cut is None and result.rows_per_group >= 1 and result.groups_per_person >= 1
    assert "NULL" in result._repr_html_()
    counted = ask(folder, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", seed=1, count_cut=True)
    assert abs(counted.rows_cut["answer"]) < 1000 and counted.rows_cut["error_bar"] > 0


def test_an_unknown_keyword_is_refused(folder):
    for function in (v.query, v.preview_query):
        with pytest.raises(TypeError, match="unexpected keyword argument 'rows_per_person'"):
            function("SELECT COUNT(*) FROM people", catalog=folder / "catalog.toml", epsilon=1, rows_per_person=2)
