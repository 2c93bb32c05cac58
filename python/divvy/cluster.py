"""Sweeps on the workers of a Dask cluster."""

from __future__ import annotations

import queue
import time
import warnings
from typing import Any

from . import _divvy

# Dask runs a part so often again that raised an error. It counts lost workers itself.
_RETRIES = 2
# Between two questions how many threads the workers have.
_LOOK_S = 0.5


def sweep(job: _divvy.Job, client: Any) -> _divvy.Sweep:
    """Gives the parts of a sweep to the client's workers, until all are answered."""
    _check(client)
    ended: queue.SimpleQueue[int] = queue.SimpleQueue()
    futures: dict[int, Any] = {}
    workers = _Workers(client)
    try:
        while not job.is_complete():
            threads = workers.threads()
            while threads and (given := job.next(threads)):
                number, part = given
                # The first rows are needed first, so they are also run first when they have to be run again.
                future = client.submit(_run, job.request, part, pure=False, retries=_RETRIES, priority=-number)
                futures[number] = future
                future.add_done_callback(lambda _, number=number: ended.put(number))
            try:
                number = ended.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            worker, seconds, answer = _result(job, number, futures.pop(number))
            job.take(number, answer, worker, seconds)
    finally:
        if futures:
            client.cancel(list(futures.values()), force=True)
    return job.sweep()


def _check(client: Any) -> None:
    if not (hasattr(client, "submit") and hasattr(client, "nthreads")):
        raise _divvy.UsageError(f"client={client!r}: it is a Client of the package distributed")
    if getattr(client, "asynchronous", False):
        raise _divvy.UsageError("client: it is asynchronous; give one that is not, as in Client(address)")


class _Workers:
    """The threads of all workers, asked for every now and then."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked_s = -_LOOK_S
        self._threads = 0
        self._warned = False

    def threads(self) -> int:
        now_s = time.monotonic()
        if now_s - self._asked_s >= _LOOK_S:
            self._threads = sum(self._client.nthreads().values())
            self._asked_s = now_s
        if not self._threads and not self._warned:
            warnings.warn("the cluster has no workers; the sweep waits for some", stacklevel=5)
            self._warned = True
        return self._threads


def _result(job: _divvy.Job, number: int, future: Any) -> tuple[str, float, str]:
    """What a worker answered, or an error that names the points."""
    try:
        return future.result()
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        if type(error).__name__ == "KilledWorker":
            what = f"{error.allowed_failures + 1} workers were lost while they ran it, the last of them {error.last_worker.address}"
        elif isinstance(error, ImportError):
            what = f"{what}; all workers need the package divvy, of version {_divvy.__version__}"
        raise _divvy.RunError(f"{job.points(number)}: {what}") from error


def _run(request: str, part: str) -> tuple[str, float, str]:
    """Runs on a worker."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    begin_s = time.monotonic()
    answer = _divvy.run_part(request, part, is_cancelled)
    return worker.address, time.monotonic() - begin_s, answer
