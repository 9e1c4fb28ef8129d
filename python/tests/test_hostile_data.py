"""Data of every kind that Python has: a right answer or one line of ours, and never a value of the data in it.

A marked value is planted in all data, as a number and as a text; no message, nor what is shown above it, may have it.
"""

import datetime
import decimal
import traceback
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import veracity as v

MARK, NUMBER = "secret 41999", 41999.0
ROWS = 40


class Raises:
    """Raises whenever it is asked for anything, with a value of the data in it."""

    def _raise(self, *_, **__):
        raise RuntimeError(MARK)

    __float__ = __index__ = __iter__ = __len__ = __array__ = __str__ = __repr__ = __eq__ = __getitem__ = __bool__ = _raise
    __hash__ = None


class RaisesWhenWalked(list):
    __iter__ = __getitem__ = Raises._raise


class RaisesAsArray:
    dtype = np.dtype("float64")
    __array__ = __iter__ = __getitem__ = Raises._raise

    def __len__(self):
        return ROWS


class Float(float):
    """A float that lies about itself; what it is, is 3."""

    __float__ = __repr__ = __str__ = Raises._raise


class Text(str):
    __str__ = __repr__ = __eq__ = Raises._raise
    __hash__ = str.__hash__


class Array(np.ndarray):
    pass


def objects(*values):
    found = np.empty(ROWS, dtype=object)
    for i in range(ROWS):
        found[i] = values[i % len(values)]
    return found


NUMBERS = np.arange(ROWS, dtype="float64")
READ_ONLY = NUMBERS.copy()
READ_ONLY.setflags(write=False)


# What is there, and how many of its values are numbers and how many are the text "a": None where it is refused.
COLUMNS = {
    "float16": (NUMBERS.astype("float16"), ROWS, 0),
    "longdouble": (NUMBERS.astype("longdouble"), ROWS, 0),
    "bool": (NUMBERS > 3, ROWS, 0),
    "uint64": (NUMBERS.astype("uint64") + 2**63, ROWS, 0),
    "big-endian": (NUMBERS.astype(">f8"), ROWS, 0),
    "every third": (np.arange(3.0 * ROWS)[::3], ROWS, 0),
    "backwards": (NUMBERS[::-1], ROWS, 0),
    "read-only": (READ_ONLY, ROWS, 0),
    "subclass": (NUMBERS.view(Array), ROWS, 0),
    "masked": (np.ma.array(NUMBERS, mask=NUMBERS >= 10), 10, 0),
    "with NaN": (np.where(NUMBERS < 8, np.nan, NUMBERS), ROWS - 8, 0),
    "infinite": (np.where(NUMBERS < 8, -np.inf, np.inf), ROWS, 0),
    "objects": (objects(1, None, MARK, Raises(), NUMBER, "a", 10**400, -(10**400)), 20, 5),
    "texts": (np.array(["a", MARK] * (ROWS // 2)), 0, ROWS // 2),
    "bytes": (np.array([MARK.encode()] * ROWS), 0, 0),
    "structures": (np.zeros(ROWS, dtype=[("a", "f8")]), 0, 0),
    "lists": ([[NUMBER], [2]] * (ROWS // 2), 0, 0),
    "subclasses of float": ([Float(3)] * ROWS, ROWS, 0),
    "subclasses of str": ([Text("a")] * ROWS, 0, ROWS),
    "surrogates": (["\ud800", "a"] * (ROWS // 2), 0, ROWS // 2),
    "decimals": ([decimal.Decimal(x) for x in ("sNaN", "NaN", "1e999999", "41999")] * (ROWS // 4), ROWS // 2, 0),
    "dates as objects": ([datetime.date(1999, 4, 1)] * ROWS, 0, 0),
    "range": (range(ROWS), ROWS, 0),
    "datetime64": (np.array(["1999-04-01"] * ROWS, dtype="M8[D]"), None, None),
    "timedelta64": (np.array([NUMBER] * ROWS).astype("m8[s]"), None, None),
    "complex": (NUMBERS + 41999j, None, None),
    "walks raise": (RaisesWhenWalked([1.0] * ROWS), None, None),
    "arrays raise": (RaisesAsArray(), None, None),
    "raises": (Raises(), None, None),
    "two dimensions": (np.full((ROWS, 1), NUMBER), None, None),
    "none": (np.array(NUMBER), None, None),
    "set": ({NUMBER, 2.0}, None, None),
    "dict": ({NUMBER: 2.0}, None, None),
    "walk": ((x for x in [NUMBER]), None, None),
    "text": (MARK, None, None),
    "nothing": (None, None, None),
}
FRAMES = {
    "nullable": (pd.DataFrame({"x": pd.array([1, None, 3, 41999] * 10, dtype="Int64")}), 30, 0),
    "nullable bool": (pd.DataFrame({"x": pd.array([True, None] * 20, dtype="boolean")}), 20, 0),
    "categories": (pd.DataFrame({"x": pd.Categorical(["a", "b", MARK, None] * 10)}), 0, 10),
    "categories of numbers": (pd.DataFrame({"x": pd.Categorical([1, 41999] * 20)}), ROWS, 0),
    "sparse": (pd.DataFrame({"x": pd.arrays.SparseArray([0.0, NUMBER] * 20)}), ROWS, 0),
    "strings": (pd.DataFrame({"x": pd.array(["a", None, MARK, MARK] * 10, dtype="string")}), 0, 10),
    "arrow in pandas": (pd.DataFrame({"x": pd.array([1, None] * 20, dtype="int64[pyarrow]")}), 20, 0),
    "times": (pd.DataFrame({"x": pd.to_datetime(["1999-04-01", None] * 20).tz_localize("UTC")}), None, None),
    "periods": (pd.DataFrame({"x": pd.period_range("1999-04", periods=ROWS)}), 0, 0),
    "same names": (pd.DataFrame([[1, NUMBER]] * ROWS, columns=["x", "x"]), None, None),
    "names that are the same as texts": (pd.DataFrame([[1, NUMBER]] * ROWS, columns=[0, "0"]), None, None),
    "polars categories": (pl.DataFrame({"x": pl.Series(["a", MARK] * 20, dtype=pl.Categorical)}), 0, 20),
    "polars decimals": (pl.DataFrame({"x": pl.Series(["41999.5", None] * 20).cast(pl.Decimal(10, 2))}), 20, 0),
    "polars lists": (pl.DataFrame({"x": [[NUMBER]] * ROWS}), 0, 0),
    "polars nulls": (pl.DataFrame({"x": [None] * ROWS}), 0, 0),
    "polars objects": (pl.DataFrame({"x": pl.Series([object()] * ROWS, dtype=pl.Object)}), 0, 0),
    "polars times": (pl.DataFrame({"x": [datetime.datetime(1999, 4, 1)] * ROWS}), None, None),
    "polars lazy": (pl.DataFrame({"x": [NUMBER] * ROWS}).lazy(), None, None),
    "arrow dictionaries": (pa.table({"x": pa.array(["a", MARK] * 20).dictionary_encode()}), 0, 20),
    "arrow halves": (pa.table({"x": pa.array(NUMBERS.astype("float16"))}), ROWS, 0),
    "arrow batch": (pa.record_batch({"x": NUMBERS}), ROWS, 0),
    "arrow same names": (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]), None, None),
    "arrow nulls": (pa.table({"x": pa.nulls(ROWS)}), 0, 0),
    "an array": (np.full((ROWS, 2), NUMBER), None, None),
    "a series": (pd.Series([NUMBER]), None, None),
    "keys that are the same as texts": ({0: NUMBERS, "0": NUMBERS}, None, None),
    "lengths that differ": ({"x": [1.0], "y": [NUMBER, 2.0]}, None, None),
    "no columns": ({}, None, None),
}
CASES = {name: ({"x": column}, numbers, texts) for name, (column, numbers, texts) in COLUMNS.items()} | FRAMES


def asked(data, ask):
    """The answer without noise to speak of, or None where it is refused as it must be."""
    try:
        return np.atleast_1d(ask(v.Session(data, epsilon=2e4, delta=1e-6, seed=1)).answer)
    except (v.Error, TypeError) as told:
        whole = "".join(traceback.format_exception(told))
        said = str(told)
        assert "\n" not in said and len(said) < 300 and said.isprintable(), said
        assert "41999" not in said and MARK not in whole.partition("Traceback")[2].replace(f"{MARK!r}", ""), whole
        return None


@pytest.mark.parametrize("name", CASES)
def test_data_of_every_kind_are_answered_or_refused(name):
    data, numbers, texts = CASES[name]
    bounds = {"lower": -1e6, "upper": 1e6}
    # At ε = 500 the noise of a count is 0 but with a chance below 1e-30.
    found = asked(data, lambda s: s.histogram("x", edges=[-1e6, 1e6], epsilon=500))
    assert (found is None) == (numbers is None)
    if numbers is not None:
        assert found[0] == numbers
        assert np.isfinite(asked(data, lambda s: s.mean("x", **bounds, epsilon=500))[0])
        assert np.isfinite(asked(data, lambda s: s.quantile("x", 0.5, **bounds, epsilon=500))[0])
        assert asked(data, lambda s: s.count(epsilon=500))[0] == ROWS
    found = asked(data, lambda s: s.histogram("x", keys=["a"], epsilon=500))
    assert (found is None) == (texts is None)
    if texts is not None:
        assert found[0] == texts
        assert asked(data, lambda s: s.group_by("x", ["a", "b"]).count(epsilon=500))[0] == texts


def test_a_message_with_a_value_would_be_seen():
    """The twin: what another package says of a text that is no number has the text in it."""
    with pytest.raises(ValueError, match=MARK):
        np.array([MARK]).astype("float64")


def test_memory_maps_are_read(tmp_path):
    NUMBERS.tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", dtype="float64", mode="r")
    assert asked({"x": mapped}, lambda s: s.histogram("x", edges=[0, 10, 40], epsilon=500)).tolist() == [10, 30]


def test_texts_are_the_same_only_if_their_characters_are():
    """Keys are not normalised: whoever wants that does it in the data and in the keys."""
    one, other = "caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9")
    found = asked({"x": [one] * 30 + [other] * 10}, lambda s: s.histogram("x", keys=[one, other], epsilon=500))
    assert one != other and found.tolist() == [30, 10]
    with pytest.raises(v.InvalidInput, match=r"^column 'caf.*' does not exist"):
        v.Session({one: [1.0]}, epsilon=1).count(other, epsilon=1)


def test_names_that_cannot_be_printed_are_not():
    for name in ["\x00x", "\ud800", "a\nb", "\u202e"]:
        session = v.Session({name: [1.0]}, epsilon=1)
        with pytest.raises(v.InvalidInput) as told:
            session.count("y", epsilon=0.1)
        assert str(told.value).isprintable()


def test_a_million_values_in_a_list_are_read():
    found = asked({"x": [NUMBER] * 1_000_000}, lambda s: s.count("x", epsilon=500))
    assert found[0] == 1_000_000


@pytest.mark.parametrize("given", [[0.5] * 1_000_000, (0.5 for _ in iter(int, 1)), Raises(), 5, "0.5", [Raises()], [10**400], [None]])
def test_lists_of_parameters_have_ends(given):
    session = v.Session({"x": [1.0, 2.0]}, epsilon=1)
    for ask in [
        lambda: session.quantiles("x", given, lower=0, upper=1, epsilon=0.1),
        lambda: session.histogram("x", edges=given, epsilon=0.1),
    ]:
        with pytest.raises((v.InvalidInput, TypeError)) as told:
            ask()
        assert "\n" not in str(told.value) and MARK not in str(told.value)
    assert session.spent.epsilon == 0


@pytest.mark.parametrize("given", [Raises(), "1", None, 10**400, float("nan"), -1, True, [1], np.array([1.0, 2.0]), b"1"])
def test_parameters_of_a_session_are_refused_in_one_line(given):
    refusing = [
        lambda: v.Session({"x": [1.0]}, epsilon=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, delta=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, person="x", rows_per_person=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, person=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, adjacency=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, name=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1, seed=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1).count(epsilon=given),
        lambda: v.Session({"x": [1.0]}, epsilon=1).count(given, epsilon=1),
        lambda: v.Session({"x": [1.0]}, epsilon=1).quantile("x", given, lower=0, upper=1, epsilon=1),
        lambda: v.Session({"x": [1.0]}, epsilon=1).save(given),
    ]
    told = 0
    for ask in refusing:
        try:
            ask()
        except (v.Error, TypeError) as error:
            assert "\n" not in str(error) and MARK not in str(error)
            told += 1
    assert told >= len(refusing) - 4
