"""Tables of results."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from . import _divvy
from ._divvy import UsageError


class Table:
    """Columns of Arrow. Packages that know Arrow's PyCapsule interface take it as it is, without a copy:
    `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.sql("from t")`.
    """

    def __init__(self, native: _divvy.Table) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by the names of the columns; it needs no other package."""
        return self._native.to_dict()

    def to_arrow(self) -> Any:
        """A pyarrow.Table, without a copy."""
        return _package("pyarrow", "pyarrow").table(self._native)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; policies and tasks are categories. Whole numbers that may be absent become floats."""
        _package("pandas", "pandas pyarrow")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame, without a copy of the numbers."""
        return _package("polars", "polars").DataFrame(self._native)

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts."""
        columns = self.to_dict()
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def __repr__(self) -> str:
        return f"<divvy.Table: {len(self)} rows of {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()


def _package(name: str, needed: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"this needs the package {name}, which is not installed: pip install {needed}") from error
