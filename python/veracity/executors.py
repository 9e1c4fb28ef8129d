"""Executors for `veracity.audit(..., executor=...)` that are not ready-made.

Those of concurrent.futures, a Dask `Client` and those of submitit are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import InvalidInput


class Ray:
    """Shards as tasks of Ray, by `ray.remote`; the options are those of a task, such as `num_cpus=1`.

    Ray is initialised already, or initialises itself on the first shard. A task whose worker dies is not tried again by Ray: the audit
    submits its shard again.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise InvalidInput("ray is not installed, expected it for this executor: pip install ray") from error
        self._ray, self._options = ray, {"max_retries": 0, **options}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> RayFuture:
        """Starts a task."""
        task = self._ray.remote(function).options(**self._options)
        return RayFuture(self._ray, task.remote(*arguments))


class RayFuture:
    """The result of a task, as a future."""

    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def done(self) -> bool:
        """Whether the task has ended, well or not."""
        return bool(self._ray.wait([self._reference], timeout=0)[0])

    def result(self) -> Any:
        """What it gave; waits for it."""
        return self._ray.get(self._reference)

    def cancel(self) -> bool:
        """Asks Ray to drop the task."""
        self._ray.cancel(self._reference, force=True)
        return True
