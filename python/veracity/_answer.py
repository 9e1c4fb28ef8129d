"""Answers of a session. A notebook shows them as tables."""

from __future__ import annotations

import html
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._veracity import Claim, _Promise


class Answer:
    """The answer of one query of a session: one number, or one per group, bin or rank, with error bars and one claim.

    `float()` returns a single number. `len()` is the number of rows.

    Attributes:
        statistic: the statistic, such as "mean".
        column: the name of the column, or None.
        rows: one dict per number, with its group, bin or rank.
        for_release: False if the noise came from a seed.
        epsilon: ε of the query.
        delta: δ of the session.
        rows_per_person: the maximum number of rows per person, or None if rows are protected one by one.
    """

    def __init__(
        self,
        statistic: str,
        column: str | None,
        rows: list[dict[str, Any]],
        promise: _Promise,
        for_release: bool,
        epsilon: float,
        delta: float,
        rows_per_person: int | None,
    ) -> None:
        self.statistic = statistic
        self.column = column
        self.rows = rows
        self.for_release = for_release
        self._promise = promise
        self.epsilon = epsilon
        self.delta = delta
        self.rows_per_person = rows_per_person
        self._labels = [name for name in rows[0] if name not in ("answer", "error_bar", "rank_error")]

    @cached_property
    def claim(self) -> Claim:
        """Claim of the answer. Its privacy profile is computed when you first read it."""
        return self._promise.claim()

    @property
    def answer(self) -> Any:
        """The noisy number, or an array if there are several."""
        return self._values("answer")

    @property
    def error_bar(self) -> Any:
        """Error bar: with probability 95% or more, the exact statistic of the clamped values is within this distance."""
        return self._values("error_bar")

    @property
    def rank_error(self) -> Any:
        """For a quantile, the number of records by which its rank may be off. None for other statistics."""
        return None if self.rows[0]["rank_error"] is None else self._values("rank_error")

    def _values(self, name: str) -> Any:
        if not self._labels:
            return self.rows[0][name]
        return np.array([row[name] for row in self.rows])

    def __float__(self) -> float:
        if self._labels:
            raise TypeError(f"answer has {len(self.rows)} numbers, expected one; read .answer")
        return float(self.rows[0]["answer"])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, label: Any) -> float:
        """Return the number of a group, bin or rank. Pass a tuple if there are several labels."""
        wanted = label if isinstance(label, tuple) else (label,)
        for row in self.rows:
            if tuple(row[name] for name in self._labels) == wanted:
                return float(row["answer"])
        raise KeyError(label)

    def to_dict(self) -> list[dict[str, Any]]:
        """Convert the answer to a list of dicts.

        Returns:
            One dict per number.
        """
        return [self._shown(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """Convert the answer to a pandas DataFrame.

        Returns:
            A DataFrame with one row per number.

        Raises:
            ImportError: if pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("pandas is not installed, expected it for to_pandas: pip install pandas") from None
        return pandas.DataFrame(self.to_dict())

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if value is not None}

    def _title(self) -> str:
        of = "" if self.column is None else f" of {self.column}"
        by = f" by {self._labels[0]}" if self._labels and self._labels[0] not in ("bin", "rank") else ""
        return f"{self.statistic}{of}{by}"

    def _conditions(self) -> str:
        delta = f" at delta {self.delta:g}" if self.delta else ""
        persons = f", {self.rows_per_person} rows of a person at most" if self.rows_per_person else ""
        return f"epsilon {self.epsilon:g}{delta}{persons}"

    def __repr__(self) -> str:
        if self._labels:
            return f"<{self._title()}: {len(self.rows)} numbers, {self._conditions()}>"
        row = self.rows[0]
        return f"<{self._title()}: {row['answer']:.6g} ± {row['error_bar']:.2g}, {self._conditions()}>"

    def _repr_html_(self) -> str:
        cells = []
        most = max((abs(row["answer"]) + row["error_bar"] for row in self.rows), default=0.0) or 1.0
        for row in self.rows[:200]:
            labels = "".join(f"<th style='text-align:left'>{html.escape(str(row[name]))}</th>" for name in self._labels)
            number = f"<td>{row['answer']:.6g}</td><td>± {row['error_bar']:.2g}</td>"
            bar = f"<td>{_bar(row['answer'], row['error_bar'], most)}</td>" if self._labels else ""
            cells.append(f"<tr>{labels}{number}{bar}</tr>")
        if len(self.rows) > 200:
            cells.append(f"<tr><td>and {len(self.rows) - 200} more</td></tr>")
        title, conditions = html.escape(self._title()), html.escape(self._conditions())
        rehearsal = "" if self.for_release else " · of a seed, not for release"
        return (
            f"<div><b>{title}</b> <span style='opacity:.7'>{conditions}{rehearsal}</span>"
            f"<table>{''.join(cells)}</table></div>"
        )


def _bar(answer: float, error_bar: float, most: float) -> str:
    """Draw a bar with its error, in shades for light and dark pages."""
    width = 160.0
    length = max(0.0, answer) / most * width
    left = max(0.0, answer - error_bar) / most * width
    right = min(width, max(0.0, answer + error_bar) / most * width)
    return (
        f"<svg width='{width:.0f}' height='14' role='img'>"
        f"<rect x='0' y='2' width='{length:.1f}' height='10' fill='#4c8bb8' opacity='.75'/>"
        f"<line x1='{left:.1f}' x2='{right:.1f}' y1='7' y2='7' stroke='currentColor' stroke-width='1.5'/></svg>"
    )
