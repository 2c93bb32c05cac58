"""Simulate, replay and compare scheduling policies, with the numbers of the command `divvy`.

    import divvy
    result = divvy.simulate("mix.toml", ["rr", "gr3"])
    result.tasks.to_pandas()
"""

from ._divvy import BadInput, InternalError, RunError, UsageError, __version__
from ._divvy import DivvyError as Error
from .own import Policy, Why
from .papers import Paper, paper, papers
from .policies import policies, policy
from .result import Result
from .runs import replay, simulate, sweep
from .sources import source
from .sweeps import Sweep
from .table import Table
from .workload import Workload

__all__ = [
    "BadInput", "Error", "InternalError", "Paper", "Policy", "Result", "RunError", "Sweep", "Table", "UsageError", "Why", "Workload",
    "__version__", "paper", "papers", "policies", "policy", "replay", "simulate", "source", "sweep",
]
