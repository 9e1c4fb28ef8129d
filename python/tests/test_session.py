"""Private statistics of a table within one budget."""

import copy
import decimal
import math
import os
import pickle
import threading

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import veracity as v

HOURS = [float(i % 90) for i in range(3000)]
SEXES = ["Male" if i % 3 else "Female" for i in range(3000)]
TABLE = {"hours": np.array(HOURS), "sex": np.array(SEXES), "id": np.arange(3000) // 2}
BOUNDS = {"lower": 0, "upper": 99}


def session(data=TABLE, epsilon=3.0, delta=1e-6, seed=1, **settings):
    return v.Session(data, epsilon, delta, seed=seed, **settings)


def all_questions(s, at):
    """Every question there is, at one ε."""
    return [
        lambda: s.count(epsilon=at),
        lambda: s.count("hours", epsilon=at),
        lambda: s.count("sex", epsilon=at),
        lambda: s.sum("hours", **BOUNDS, epsilon=at),
        lambda: s.mean("hours", **BOUNDS, epsilon=at),
        lambda: s.variance("hours", **BOUNDS, epsilon=at),
        lambda: s.quantile("hours", 0.5, **BOUNDS, epsilon=at),
        lambda: s.quantiles("hours", [0.25, 0.75], **BOUNDS, epsilon=at, error_bar="charged"),
        lambda: s.histogram("hours", bins=9, **BOUNDS, epsilon=at),
        lambda: s.histogram("hours", edges=[0, 10.5, 40, math.inf], epsilon=at),
        lambda: s.histogram("sex", keys=["Male", "Female", "else"], epsilon=at),
        lambda: s.group_by("sex", ["Male", "Female", "else"]).mean("hours", **BOUNDS, epsilon=at),
        lambda: s.group_by("sex", ["Male"]).histogram("hours", bins=3, **BOUNDS, epsilon=at),
    ]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_every_answer_is_within_its_error_bar_six_times_over_and_has_a_claim(delta):
    s = session(epsilon=100.0, delta=delta)
    truths = [3000, 3000, 3000, sum(HOURS), np.mean(HOURS), np.var(HOURS), np.median(HOURS), np.quantile(HOURS, [0.25, 0.75])]
    truths += [np.histogram(HOURS, 9, (0, 99))[0], np.histogram(HOURS, [0, 10.5, 40, 1e9])[0], [2000, 1000, 0]]
    for question, truth in zip(all_questions(s, 1.0), truths, strict=False):
        r = question()
        assert np.all(np.abs(np.asarray(r.answer) - np.asarray(truth)) <= 6 * np.maximum(np.asarray(r.error_bar), 4)), r
        # The whole curve of a mean with Gaussian noise takes seconds.
        if delta == 0 or len(s.answers) == 1:
            assert r.claim.epsilon <= 1.0 and r.claim.delta == delta and not r.for_release
            assert '"entropy": "seeded"' in r.claim.to_json()
    assert s.spent.epsilon <= 11.1


def test_an_answer_shows_itself():
    s = session()
    r = s.mean("hours", **BOUNDS, epsilon=0.5)
    assert float(r) == r.answer and "mean of hours" in repr(r) and "<table>" in r._repr_html_()
    assert list(r.to_pandas().columns) == ["answer", "error_bar"]
    grouped = s.group_by("sex", keys=["Male", "Female"]).mean("hours", **BOUNDS, epsilon=0.5)
    frame = grouped.to_pandas()
    assert list(frame["sex"]) == ["Male", "Female"] and grouped["Female"] == frame["answer"][1]
    with pytest.raises(TypeError):
        float(grouped)
    assert "not for release" in grouped._repr_html_() and "<svg" in s._repr_html_() and "Session" in repr(s)
    hostile = s.histogram("sex", keys=["<script>alert(1)</script>"], epsilon=0.1)
    assert "<script>" not in hostile._repr_html_()
    quantiles = s.quantiles("hours", [0.1, 0.9], **BOUNDS, epsilon=0.2)
    assert list(quantiles.to_pandas()["rank"]) == [0.1, 0.9] and quantiles.rank_error[0] > 0


def test_all_kinds_of_tables_say_the_same(tmp_path):
    frame = pandas.DataFrame(TABLE)
    frame.to_csv(tmp_path / "t.csv", index=False)
    pyarrow.parquet.write_table(pyarrow.table(TABLE), tmp_path / "t.parquet", compression="snappy")
    tables = [
        TABLE,
        {name: list(values) for name, values in TABLE.items()},
        frame,
        frame.convert_dtypes(),
        frame.astype({"sex": "category"}),
        polars.DataFrame(TABLE),
        pyarrow.table(TABLE),
        pyarrow.table(TABLE).to_batches()[0],
        tmp_path / "t.csv",
        str(tmp_path / "t.parquet"),
    ]
    told = []
    for table in tables:
        s = session(table, epsilon=50.0, delta=0.0, person="id", rows_per_person=2)
        told.append([np.asarray(question().answer).tolist() for question in all_questions(s, 1.0)])
    assert all(one == told[0] for one in told)


def test_missing_values_are_missing_and_far_ones_are_moved_in():
    class Raises:
        def __float__(self):
            raise RuntimeError("secret 4711")

        def __str__(self):
            raise RuntimeError("secret 4711")

    odd = [None, float("nan"), "no number", b"5", Raises(), pandas.NA, pandas.NaT, object(), [5.0], {}, 1 + 2j]
    known = [5, 5.0, True, "5", " 5 ", np.float32(5), np.int8(5), decimal.Decimal("5"), 10**400, -(10**400), math.inf, -math.inf]
    s = session({"x": odd + known}, epsilon=1000.0, delta=0.0)
    total = s.sum("x", lower=0, upper=10, epsilon=400)
    # Seven fives, one (True), and two each at 10 and at 0.
    assert float(total) == pytest.approx(7 * 5 + 1 + 20, abs=0.5)
    texts = session({"k": [1, 1.0, "1", np.int64(1), True, None, float("nan"), Raises()]}, epsilon=1000.0, delta=0.0)
    counted = texts.histogram("k", keys=[1, True], epsilon=400)
    assert counted.answer.tolist() == [4, 1]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_value_decides_whether_there_is_an_answer(delta):
    class Raises:
        def __float__(self):
            raise RuntimeError("secret 4711")

        __index__ = __int__ = __str__ = __hash__ = __eq__ = __float__

    everything = [None, Raises(), "a", math.nan, math.inf, -math.inf, 10**500, pandas.NA, b"x", [], {}] * 3
    for values, settings in [([], {}), ([None] * 5, {}), (everything, {}), (everything, {"person": "id", "rows_per_person": 3})]:
        table = {"hours": values, "sex": values, "id": values}
        if delta == 0 or values is everything:
            s = session(table, epsilon=100.0, delta=delta, **settings)
            for question in all_questions(s, 0.5):
                assert len(question().rows) >= 1


def test_what_is_wrong_with_a_question_is_one_line_without_data_and_free():
    secret = "secret-4711"
    s = session({"x": [1.0, 2.0], "t": [secret, secret], "d": np.array(["2026-01-01"] * 2, dtype="datetime64[D]")})
    wrong = [
        (lambda: s.mean("y", **BOUNDS, epsilon=1), v.InvalidInput),
        (lambda: s.mean("d", **BOUNDS, epsilon=1), v.InvalidInput),
        (lambda: s.mean("x", lower=5, upper=5, epsilon=1), v.InvalidInput),
        (lambda: s.mean("x", lower=math.nan, upper=5, epsilon=1), v.InvalidInput),
        (lambda: s.mean("x", lower=None, upper=5, epsilon=1), v.InvalidInput),
        (lambda: s.mean("x", lower="0", upper=5, epsilon=1), TypeError),
        (lambda: s.mean(3, lower=0, upper=5, epsilon=1), TypeError),
        (lambda: s.mean("x", **BOUNDS, epsilon=0), v.InvalidInput),
        (lambda: s.mean("x", **BOUNDS, epsilon=-1), v.InvalidInput),
        (lambda: s.mean("x", **BOUNDS, epsilon=math.nan), v.InvalidInput),
        (lambda: s.mean("x", **BOUNDS, epsilon=1e9), v.InvalidInput),
        (lambda: s.quantile("x", 1.5, **BOUNDS, epsilon=1), v.InvalidInput),
        (lambda: s.quantiles("x", [], **BOUNDS, epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", bins=2, keys=["a"], epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", bins=0, **BOUNDS, epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", bins=2, epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", edges=[1], epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", edges=[1, math.nan], epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", keys=[], epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", keys=["a", "a"], epsilon=1), v.InvalidInput),
        (lambda: s.histogram("x", keys="ab", epsilon=1), TypeError),
        (lambda: s.histogram("x", keys=[None], epsilon=1), v.InvalidInput),
        (lambda: s.group_by("t", []).count(epsilon=1), v.InvalidInput),
        (lambda: s.group_by("nowhere", ["a"]), v.InvalidInput),
        (lambda: v.Session([1, 2], 1), TypeError),
        (lambda: v.Session({}, 1), v.InvalidInput),
        (lambda: v.Session({"x": [1], "y": [1, 2]}, 1), v.InvalidInput),
        (lambda: v.Session({"x": np.zeros((2, 2))}, 1), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, -1), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, math.inf), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, 1, 1.5), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, 1, person="nobody"), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, 1, person="x", rows_per_person=0), v.InvalidInput),
        (lambda: v.Session({"x": [1]}, 1, person="x", adjacency="replace-one"), v.NoTheorem),
        (lambda: v.Session({"x": [1]}, 1, seed=-1), v.InvalidInput),
        (lambda: v.Session("no-such-file.csv", 1).count(epsilon=1), v.FileError),
    ]
    for place, (question, expected) in enumerate(wrong):
        with pytest.raises(expected) as caught:
            question()
        message = str(caught.value)
        assert "\n" not in message and secret not in message, (place, message)
    assert s.spent.fraction == 0 and s.answers == []


def admitted(s):
    """How many questions of ε ½ a session answers, at most 100."""
    for number in range(100):
        try:
            s.count(epsilon=0.5)
        except v.BudgetExceeded:
            return number
    return 100


class Forgetful(v.Session):
    """The twin: it opens a new ledger for every question."""

    def _ask(self, *asked, **how):
        self._account = v.Session(TABLE, self.epsilon, self.delta)._account
        return super()._ask(*asked, **how)


def test_the_budget_is_kept_and_one_who_forgets_is_found_out():
    assert admitted(session(delta=0.0)) == 6
    # (3, 1e-6) is μ 0.62 and (½, 1e-6) is μ 0.118: 27 questions, not 6. # mpmath: μ² 0.3865 / 0.01396 = 27.7
    assert admitted(session()) == 27
    assert admitted(Forgetful(TABLE, 3.0)) == 100
    s = session(delta=0.0, epsilon=1.0)
    s.mean("hours", **BOUNDS, epsilon=0.75)
    before = (s.spent.epsilon, len(s.answers))
    with pytest.raises(v.BudgetExceeded, match=r"costs epsilon 0\.5000, but only 0\.2500 is left"):
        s.mean("hours", **BOUNDS, epsilon=0.5)
    assert (s.spent.epsilon, len(s.answers)) == before
    assert s.remaining.epsilon == pytest.approx(0.25) and float(s.spent) == pytest.approx(0.75)
    s.count(epsilon=s.remaining.epsilon * (1 - 1e-9))


def test_a_budget_of_nothing_shows_itself_and_answers_nothing():
    s = v.Session({"x": [1.0]}, epsilon=0)
    assert "spent 0, remaining 0" in repr(s) and s.spent.fraction == s.remaining.fraction == 0 and "<svg" in s._repr_html_()
    with pytest.raises(v.BudgetExceeded):
        s.count(epsilon=0.1)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_threads_cannot_overdraw(delta):
    s = session(epsilon=1.0, delta=delta)
    alone = session(epsilon=1.0, delta=delta)
    fitting = 0
    while alone.remaining.fraction > 0.001:
        try:
            alone.count(epsilon=0.1)
            fitting += 1
        except v.BudgetExceeded:
            break
    granted = []

    def work():
        for _ in range(30):
            try:
                granted.append(s.count(epsilon=0.1))
            except v.BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(s.answers) == fitting and fitting >= 9
    # No two questions had the same noise: of one seed, answers of one question differ by number.
    assert len({float(answer) for answer in granted}) > fitting // 4


def test_what_fails_after_the_charge_stays_charged():
    class Broken(list):
        def __iter__(self):
            raise RuntimeError("secret 4711")

    s = session({"x": Broken([1, 2]), "y": [1.0, 2.0]}, delta=0.0)
    with pytest.raises(v.InvalidInput, match="cannot be read") as caught:
        s.mean("x", **BOUNDS, epsilon=1)
    assert "4711" not in str(caught.value) and caught.value.__context__ is None
    assert s.spent.epsilon == pytest.approx(1) and s.answers == []
    assert len(s.mechanism.to_json()) > 0


def test_a_session_is_neither_copied_nor_forked():
    s = session()
    for attempt in [lambda: pickle.dumps(s), lambda: copy.copy(s), lambda: copy.deepcopy(s)]:
        with pytest.raises(TypeError):
            attempt()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            s.count(epsilon=0.5)
            os.write(write, b"answered")
        except v.InvalidInput:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"refused"
    assert s.count(epsilon=0.5).answer is not None


def binomial_tail(n, p, k):
    """P(at least k of n), by logarithms."""
    log = lambda i: math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
    return math.fsum(math.exp(log(i)) for i in range(k, n + 1))


def is_plausible(noises, beyond, p, level=1e-6):
    """Whether as many noises are beyond a number as chance p has it; exact, two-sided."""
    k = sum(abs(x) > beyond for x in noises)
    return min(binomial_tail(len(noises), p, k), 1 - binomial_tail(len(noises), p, k + 1)) > level / 2


def gaussian_chance(sigma, beyond):
    """P(|x| > beyond) of the discrete Gaussian."""
    weights = {x: math.exp(-0.5 * (x / sigma) ** 2) for x in range(-int(20 * sigma), int(20 * sigma) + 1)}
    return math.fsum(w for x, w in weights.items() if abs(x) > beyond) / math.fsum(weights.values())


def test_noise_has_the_declared_scale():
    """4000 absent groups are 4000 noises. Level 1e-6; twins of half and twice the noise fall."""
    keys = [f"absent {i}" for i in range(4000)]
    noise = {at: session(delta=0.0).group_by("sex", keys).count(epsilon=at).answer for at in (0.25, 0.5, 1.0)}
    # Discrete Laplace of scale 2: P(|x| > 2) = 2 e^{−3/2}/(1 + e^{−1/2}).
    p = 2 * math.exp(-1.5) / (1 + math.exp(-0.5))
    assert is_plausible(noise[0.5], 2, p)
    assert not is_plausible(noise[0.25], 2, p) and not is_plausible(noise[1.0], 2, p)

    told = {at: session(delta=1e-6).group_by("sex", keys).count(epsilon=at) for at in (0.5, 1.0)}
    note = v.discrete_gaussian(sigma=8.4, sensitivity=1)
    assert note.epsilon(1e-6) <= 0.51
    sigma = float(told[0.5].claim.to_json().split('"scale":')[1].split(",")[0].split("}")[0])
    p = gaussian_chance(sigma, round(sigma))
    assert is_plausible(told[0.5].answer, round(sigma), p) and not is_plausible(told[1.0].answer, round(sigma), p)


def test_questions_of_a_seeded_session_move_by_no_more_than_the_sensitivity():
    """Two sessions of one seed on adjacent tables have the same noise, so answers differ by what one row, or one person, moves."""
    rows = [(float(i % 120 - 10), SEXES[i], i // 3) for i in range(300)]
    keys = ["Male", "Female"]
    for persons, most in [({}, 1), ({"person": "id", "rows_per_person": 2}, 2)]:
        for gone in [0, 100, 299]:
            fewer = [row for i, row in enumerate(rows) if (i != gone if most == 1 else row[2] != rows[gone][2])]
            for delta in (0.0, 1e-6):
                one, other = (
                    session(dict(zip(("hours", "sex", "id"), zip(*table, strict=True), strict=True)), 50.0, delta, **persons)
                    for table in (rows, fewer)
                )
                for ask, move in [
                    (lambda s: s.count(epsilon=1), 1),
                    (lambda s: s.sum("hours", **BOUNDS, epsilon=1), 99),
                    (lambda s: s.histogram("hours", bins=9, **BOUNDS, epsilon=1), 1),
                    (lambda s: s.group_by("sex", keys).count(epsilon=1), 1),
                    (lambda s: s.group_by("sex", keys).sum("hours", **BOUNDS, epsilon=1), 99),
                ]:
                    moved = np.abs(np.atleast_1d(ask(one).answer) - np.atleast_1d(ask(other).answer)).sum()
                    # And a step of the grid for each number, a hundredth of the bound.
                    assert moved <= most * move * (1 + 1 / 10), (persons, gone, delta, move)
                # The same rows of others are kept, so something moves: the test can fail.
                assert one.count(epsilon=1).answer - other.count(epsilon=1).answer == most


def test_system_noise_is_not_repeated_and_claims_are_for_release():
    s = session(seed=None, epsilon=1.0, delta=0.0)
    answers = [float(s.count(epsilon=0.01)) for _ in range(12)]
    assert len(set(answers)) > 6
    claim = s.answers[0].claim.to_json()
    assert '"for_release": true' in claim and '"entropy": "system"' in claim


def test_claims_are_saved_and_stand(tmp_path):
    s = session(person="id", rows_per_person=2, name="survey", seed=None, delta=0.0)
    s.mean("hours", **BOUNDS, epsilon=0.5)
    s.group_by("sex", ["Male", "Female"]).mean("hours", **BOUNDS, epsilon=0.5)
    s.count(epsilon=0.1)
    paths = s.save(tmp_path / "claims")
    assert [os.path.basename(path) for path in paths] == [
        "mean-of-hours.claim.json",
        "mean-by-sex-of-hours.claim.json",
        "count.claim.json",
    ]
    for path in paths:
        v.verify(path).raise_if_invalid()
    claim = v.read_claim(paths[0])
    assert claim.unit == "person" and '"survey"' in claim.to_json() and "At most 2 of these rows are used" in claim.definition
    assert s.answers[0].rows_per_person == 2 and "2 rows of a person" in repr(s.answers[0])
    assert s.composed().upper <= s.spent.epsilon * (1 + 1e-9)
    rehearsal = session(delta=0.0)
    with pytest.raises(v.Refuted, match="not for release"):
        rehearsal.count(epsilon=1).claim.verify().raise_if_invalid()


def test_rows_whose_number_is_public_may_be_asked_too():
    s = session(adjacency="replace-one")
    assert float(s.mean("hours", **BOUNDS, epsilon=1)) == pytest.approx(np.mean(HOURS), abs=3)
    with pytest.raises(v.NoTheorem):
        s.group_by("sex", ["Male"]).mean("hours", **BOUNDS, epsilon=1)


def test_names_that_scripts_rely_on():
    df = pandas.DataFrame(TABLE)
    s = v.Session(df, epsilon=3, delta=1e-6, person="id")
    r = s.mean("hours", lower=0, upper=99, epsilon=0.5)
    assert r.answer is not None and r.error_bar > 0
    assert len(s.group_by("sex", keys=["Male", "Female"]).mean("hours", lower=0, upper=99, epsilon=0.5).to_pandas()) == 2
    assert s.spent.epsilon > 0 and s.remaining.epsilon < 3
