"""dp_accounting's events, as the nested objects that it has: attrs classes, named tuples, or dicts. Its own tests are in test_peers."""

import collections
import math

import pytest
import veracity as v


class Field:
    def __init__(self, name):
        self.name = name


def event_class(name, *fields):
    """A class as attrs makes them, as far as it shows."""
    made = type(name, (), {"__attrs_attrs__": tuple(Field(field) for field in fields)})

    def new(*values):
        one = made()
        for field, value in zip(fields, values, strict=True):
            setattr(one, field, value)
        return one

    return new


Gaussian = event_class("GaussianDpEvent", "noise_multiplier")
Poisson = event_class("PoissonSampledDpEvent", "sampling_probability", "event")
SelfComposed = event_class("SelfComposedDpEvent", "event", "count")
Composed = event_class("ComposedDpEvent", "events")
Response = event_class("RandomizedResponseDpEvent", "noise_parameter", "num_buckets")
Select = event_class("RepeatAndSelectDpEvent", "event", "mean", "shape")
NoOp = event_class("NoOpDpEvent")


def test_events_are_the_mechanisms_that_they_name():
    step = Poisson(0.01, Gaussian(1.1))
    run = v.gaussian(noise_multiplier=1.1).sampled(0.01) * 1000
    assert v.from_dp_event(SelfComposed(step, 1000)) == run
    assert v.from_dp_event(Composed([SelfComposed(step, 1000), NoOp(), Gaussian(2)])) == run + v.gaussian(noise_multiplier=2)
    assert v.from_dp_event(Composed([Gaussian(2)] * 50)) == v.gaussian(noise_multiplier=2) * 50
    assert v.from_dp_event(Select(Gaussian(2), 10, math.inf)) == v.best_of(v.gaussian(noise_multiplier=2), mean_runs=10)


def test_named_tuples_and_dicts_are_read_as_well():
    Named = collections.namedtuple("GaussianDpEvent", ["module_name", "class_name", "noise_multiplier"])
    expected = v.gaussian(noise_multiplier=1.1)
    assert v.from_dp_event(Named("dp_accounting.dp_event", "GaussianDpEvent", 1.1)) == expected
    assert v.from_dp_event({"class_name": "GaussianDpEvent", "noise_multiplier": 1.1}) == expected


def test_an_adjacency_may_be_a_neighbouring_relation():
    Relation = collections.namedtuple("NeighboringRelation", ["name"])
    for given, name in [
        (None, "add-remove"),
        ("zero-out", "zero-out"),
        (Relation("REPLACE_ONE"), "replace-one"),
        (Relation("REPLACE_SPECIAL"), "zero-out"),
        (Relation("ADD_OR_REMOVE_ONE"), "add-remove"),
    ]:
        assert v.from_dp_event(Gaussian(1), adjacency=given).adjacency == name
    assert v.from_dp_event(Gaussian(1), unit="user").unit == "user"


def test_fifty_responses_are_charged_as_fifty():
    one = v.from_dp_event(Response(0.5, 4), adjacency="replace-one").epsilon(0)
    # A report is true with chance 1 − p + p/k = 5/8, another's with 1/8.
    assert one.lower <= math.log(5) <= one.upper
    for many in [SelfComposed(Response(0.5, 4), 50), Composed([Response(0.5, 4)] * 50)]:
        fifty = v.from_dp_event(many, adjacency="replace-one")
        assert fifty == v.randomized_response(noise_parameter=0.5, buckets=4).with_adjacency("replace-one") * 50
        assert fifty.epsilon(0).lower <= 50 * math.log(5) <= fifty.epsilon(0).upper
        assert fifty.epsilon(1e-6) > 25 * math.log(5)


def test_what_has_no_counterpart_is_refused_by_name():
    for name in ["NonPrivateDpEvent", "UnsupportedDpEvent"]:
        with pytest.raises(v.InvalidInput, match=f"^events: {name} "):
            v.from_dp_event({"class_name": name})
    with pytest.raises(v.InvalidInput, match="^events: class_name is OtherDpEvent, expected an event of dp_accounting"):
        v.from_dp_event({"class_name": "OtherDpEvent"})
    for wrong in [3, [], "event", {"noise_multiplier": 1}, Gaussian(float("nan")), Gaussian(math.inf)]:
        with pytest.raises(v.InvalidInput) as caught:
            v.from_dp_event(wrong)
        assert str(caught.value).startswith("events: ")
