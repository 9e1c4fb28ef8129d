"""Executors for `veracity.audit(..., executor=...)` that need an adapter.

You can pass executors of `concurrent.futures` and submitit and a Dask `Client` directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import InvalidInput


class Ray:
    """Run the shards of an audit as Ray tasks.

    If Ray is not initialized, it initializes itself on the first shard. If a worker dies, the audit submits its shard again.

    Args:
        **options: options of `ray.remote`, such as `num_cpus=1`.

    Raises:
        InvalidInput: if Ray is not installed.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise InvalidInput("ray is not installed, expected it for this executor: pip install ray") from error
        self._ray, self._options = ray, {"max_retries": 0, **options}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> RayFuture:
        """Start a task.

        Args:
            function: the function to run.
            *arguments: its arguments.

        Returns:
            A future.
        """
        task = self._ray.remote(function).options(**self._options)
        return RayFuture(self._ray, task.remote(*arguments))


class RayFuture:
    """The future of a Ray task."""

    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def done(self) -> bool:
        """Return True if the task has ended."""
        return bool(self._ray.wait([self._reference], timeout=0)[0])

    def result(self) -> Any:
        """Wait for the result and return it."""
        return self._ray.get(self._reference)

    def cancel(self) -> bool:
        """Ask Ray to cancel the task."""
        self._ray.cancel(self._reference, force=True)
        return True
