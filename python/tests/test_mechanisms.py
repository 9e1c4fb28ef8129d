"""Mechanisms as values: equal, hashed, written as Python and as JSON, pickled, composed."""

import copy
import inspect
import json
import pathlib
import pickle
import re

import pytest
import veracity as v

GAUSSIAN = v.gaussian(noise_multiplier=1.5)

# One of each kind that a plan may list, by the name of its kind in files; `dp-sgd` is written as what it stands for.
ALL = {
    "gaussian": GAUSSIAN,
    "laplace": v.laplace(scale=10, sensitivity=3),
    "discrete-gaussian": v.discrete_gaussian(sigma=4, sensitivity=2),
    "discrete-laplace": v.discrete_laplace(scale=4),
    "randomized-response": v.randomized_response(noise_parameter=0.5, buckets=4),
    "exponential": v.exponential(epsilon=0.3),
    "pure": v.pure(epsilon=0.1),
    "approximate": v.approximate(epsilon=0.1, delta=1e-7),
    "zcdp": v.zcdp(rho=0.01),
    "rdp": v.rdp(orders=[2, 8, 32], values=[0.01, 0.04, 0.2]),
    "gdp": v.gdp(mu=0.4),
    "poisson-sampled": v.poisson_sampled(GAUSSIAN, rate=0.01),
    "fixed-size-sampled": v.fixed_size_sampled(GAUSSIAN, batch=10, population=1000),
    "truncated-poisson-sampled": v.truncated_poisson_sampled(GAUSSIAN, rate=0.01, most=40, population=1000),
    "random-allocation": v.random_allocation(GAUSSIAN, batches=20),
    "shuffled": v.shuffled(GAUSSIAN, batches=20),
    "matrix": v.matrix(
        strategy={"kind": "banded", "steps": 16, "coefficients": [1, 0.5, 0.25]},
        participation={"kind": "separated", "times": 2, "separation": 4},
        noise_multiplier=8,
    ),
    "best-of": v.best_of(GAUSSIAN, mean_runs=3, shape=1),
    "losses": v.losses({"losses": [-1.0, 1.0], "probabilities": [0.2689414213699951, 0.7310585786300049]}),
    "repeated": GAUSSIAN * 3,
    "composed": GAUSSIAN * 3 + v.laplace(noise_multiplier=2),
    "parallel": v.parallel([GAUSSIAN, v.laplace(noise_multiplier=2)]),
    "group": GAUSSIAN.group(3),
}
KINDS = re.findall(
    r"^## ([a-z-]+)$", pathlib.Path(__file__, "../../../docs/mechanisms.md").resolve().read_text(), re.MULTILINE
)
# Kinds of a few numbers need no line above: each number may be 1.
for _kind in set(KINDS) - set(ALL) - {"dp-sgd"}:
    _maker = getattr(v, _kind.replace("-", "_"))
    _needed = [name for name, given in inspect.signature(_maker).parameters.items() if given.default is inspect.Parameter.empty]
    ALL[_kind] = _maker(**dict.fromkeys(_needed, 1))
SAID = [one.with_adjacency("zero-out", unit="household") for one in ALL.values()]


def test_every_kind_of_the_command_line_has_a_constructor():
    kinds = pathlib.Path(__file__, "../../../docs/mechanisms.md").resolve().read_text()
    assert len(KINDS) >= 24
    for kind in KINDS:
        maker = getattr(v, kind.replace("-", "_"))
        fields = re.search(rf"^## {kind}\n.*?\*\*Fields\*\*: (.*?)\n", kinds, re.MULTILINE | re.DOTALL).group(1)
        for field in re.findall(r"`(\w+)`", fields):
            assert field in inspect.signature(maker).parameters, (kind, field)
        assert "adjacency" in inspect.signature(maker).parameters, kind
    assert set(ALL) | {"dp-sgd"} == set(KINDS)


@pytest.mark.parametrize("one", [*ALL.values(), *SAID], ids=repr)
def test_a_value_is_made_again_from_its_repr_its_json_and_its_pickle(one):
    assert eval(repr(one), {"v": v}) == one
    assert v.Mechanism.from_json(one.to_json()) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    assert hash(copy.copy(one)) == hash(one)


def test_kinds_are_told_apart():
    every = [*ALL.values(), *SAID]
    for i, one in enumerate(every):
        for j, other in enumerate(every):
            assert (one == other) == (i == j)
    assert {one.kind for one in ALL.values()} == set(ALL)
    assert GAUSSIAN != 1.5 and GAUSSIAN != "gaussian"
    assert len(set(every)) == len(every)


def test_a_json_of_the_command_line_is_read():
    text = '{"kind": "dp-sgd", "batch_size": 256, "dataset_size": 60000, "noise_multiplier": 1.0, "epochs": 10}'
    run = v.Mechanism.from_json(text)
    assert run == v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=1.0, epochs=10)
    assert json.loads(run.to_json())["times"] == 2344


def test_sums_and_products_follow_the_laws():
    a, b = GAUSSIAN, v.laplace(noise_multiplier=2)
    assert a + a == a * 2 == 2 * a == a.repeated(2)
    assert (a + b) + a == a + (b + a)
    assert sum([a, b, a]) == a + b + a
    assert a * 1 == a
    assert v.repeated(a, times=3) == a * 3
    assert v.group(a, size=2) == a.group(2)
    assert v.poisson_sampled(a, rate=0.1) == a.sampled(0.1) == a.sampled(rate=0.1)
    assert v.composed([a, b]) == a + b
    run = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1.5, steps=1000)
    assert run == a.sampled(rate=0.01) * 1000
    with pytest.raises(AttributeError):
        a.kind = "laplace"


def test_a_repr_keeps_structure_that_a_sum_would_lose():
    a = GAUSSIAN
    for one in [v.composed([a, a]), v.composed([a]), v.composed([a, v.composed([a * 2, a.group(2)])]), (a * 3) * 2]:
        assert eval(repr(one), {"v": v}) == one


def test_adjacency_and_unit_are_inherited_and_must_agree():
    a = v.gaussian(noise_multiplier=2, adjacency="replace-one", unit="user")
    b = v.laplace(noise_multiplier=2)
    assert (a + b).adjacency == (b + a).adjacency == "replace-one" and (a + b).unit == "user"
    assert a.sampled(0.1).adjacency == a.group(2).adjacency == (a * 2).adjacency == "replace-one"
    assert b.adjacency == "add-remove" and b.unit == "example"
    assert v.randomized_response(noise_parameter=0.5, buckets=2).adjacency == "replace-one"
    with pytest.raises(v.InvalidInput, match="^the parts have different adjacencies \\(replace-one and zero-out\\); use the same for all$"):
        a + b.with_adjacency("zero-out")
    with pytest.raises(v.InvalidInput, match="^the parts have different privacy units \\(user and household\\); use the same for all$"):
        a + v.pure(epsilon=1, unit="household")
    # A replaced record is two contributions: as much as half the noise.
    assert a.epsilon(1e-6) == v.gaussian(noise_multiplier=1).epsilon(1e-6)
    assert b.with_adjacency("replace-one").epsilon(1e-6) == b.epsilon(1e-6, adjacency="replace-one")


def test_wrong_numbers_are_told_in_one_line():
    for made, told in [
        (lambda: v.gaussian(noise_multiplier=0), "noise multiplier is 0, expected 1e-6 ≤ noise multiplier ≤ 1e9"),
        (lambda: v.gaussian(), "noise multiplier is missing; give it, or sigma with sensitivity"),
        (lambda: GAUSSIAN * 0, "times is 0, expected an integer from 1 to 10^15"),
        (lambda: GAUSSIAN * 1.5, "times is 1.5, expected an integer from 1 to 10^15"),
        (lambda: GAUSSIAN.sampled(1.5), "sampling rate is 1.5, expected 0 < sampling rate ≤ 1"),
        (lambda: v.dp_sgd(sampling_rate=0.1, noise_multiplier=1), "steps is missing; give steps or epochs"),
        (lambda: v.pure(epsilon=1, adjacency="near"), "adjacency is near, expected add-remove, replace-one or zero-out"),
    ]:
        with pytest.raises(v.InvalidInput) as caught:
            made()
        assert str(caught.value) == told
        assert isinstance(caught.value, ValueError) and isinstance(caught.value, v.Error)
