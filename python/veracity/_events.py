"""Convert dp_accounting's events to mechanisms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._errors import InvalidInput
from ._veracity import Mechanism, _mechanism_from_events

# dp_accounting.NeighboringRelation, by the names of its members.
_RELATIONS = {
    "ADD_OR_REMOVE_ONE": "add-remove",
    "REPLACE_ONE": "replace-one",
    "REPLACE_SPECIAL": "zero-out",
}

# The Rust side reads 32 levels; a little more here, so that it is the one to refuse.
_DEEPEST = 40


def from_dp_event(event: Any, *, adjacency: Any = None, unit: str | None = None) -> Mechanism:
    """Convert an event of dp_accounting to a mechanism.

    Two results differ from those of dp_accounting 0.6.0, whose PLD accountant drops the count of a repeated `RandomizedResponseDpEvent`:
    there, 50 responses cost as much as one. Here, `SelfComposedDpEvent` always charges `count` times.

    Args:
        event: an event, the result of its `to_named_tuple()`, or either as nested dicts.
        adjacency: "add-remove", "replace-one", "zero-out" or a `dp_accounting.NeighboringRelation`. An event does not contain one.
        unit: the privacy unit, such as "patient".

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: if the event has no counterpart. docs/events.md lists all classes.

    Example:
        >>> import veracity as v
        >>> v.from_dp_event({"class_name": "GaussianDpEvent", "noise_multiplier": 1.0})
        v.gaussian(noise_multiplier=1.0)
    """
    text = json.dumps(_plain(event, _DEEPEST), allow_nan=False)
    mechanism = _mechanism_from_events(text)
    name = getattr(adjacency, "name", adjacency)
    name = _RELATIONS.get(name, name) if isinstance(name, str) else name
    return mechanism.with_adjacency(name, unit=unit)


def _plain(event: Any, depth: int) -> Any:
    """Convert an event to values that JSON can represent."""
    if depth == 0:
        raise InvalidInput("events: nesting is deeper than 32, expected at most 32 events in each other")
    fields = _fields(event)
    if fields is not None:
        return {name: _plain(value, depth - 1) for name, value in fields}
    if isinstance(event, str) or event is None:
        return event
    if isinstance(event, Sequence) or hasattr(event, "tolist") and getattr(event, "ndim", 0) > 0:
        return [_plain(one, depth - 1) for one in event]
    return _number(event)


def _fields(event: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the class and the fields of an event, of its named tuple or of a dict; None for other objects."""
    attributes = getattr(type(event), "__attrs_attrs__", None)
    if attributes is not None:
        listed = [("class_name", type(event).__name__)]
        return iter(listed + [(one.name, getattr(event, one.name)) for one in attributes])
    if isinstance(event, tuple) and hasattr(event, "_fields"):
        return zip(event._fields, event)
    if isinstance(event, Mapping):
        return iter(event.items())
    return None


def _number(value: Any) -> float | str:
    if isinstance(value, bool):
        raise TypeError("events: a field is a bool, expected a number")
    try:
        number = float(value)
    except TypeError:
        raise TypeError("events: a field is not a number, expected an event, numbers or lists") from None
    except Exception as error:
        raise InvalidInput("events: a field is too large or cannot be read, expected a number") from error
    if number != number:
        raise InvalidInput("events: a field is NaN, expected a number")
    if number in (float("inf"), float("-inf")):
        return "inf" if number > 0 else "-inf"
    return number
