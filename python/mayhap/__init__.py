"""mayhap: find bugs that a different thread timing would have triggered, from one recorded run, with proof.

``Trace`` reads a trace and gives its events as NumPy arrays or as an Arrow table. The functions do what the commands of the same
names do, in this process and without the interpreter's lock; they return the JSON of the command as Python objects.

    >>> import mayhap
    >>> trace = mayhap.generate("t.std", events=1000, threads=3, races=2)
    >>> report = mayhap.predict(trace)
    >>> [finding["kind"] for finding in report["findings"]]
    ['race', 'race']
"""

from __future__ import annotations

import json
import os
from typing import Any, Union

from . import _mayhap
from ._mayhap import MayhapError, __version__

__all__ = ["MayhapError", "Trace", "check", "detect", "generate", "predict", "report", "verify", "__version__"]

PathLike = Union[str, "os.PathLike[str]"]


class Trace(_mayhap.Trace):
    """A trace in memory.

    ``Trace(path)`` reads a trace in any format, or makes one of a recording. The object speaks the Arrow PyCapsule interface, so
    that Arrow, Polars, DuckDB and pandas take it as a table: ``polars.DataFrame(trace)``, ``duckdb.sql("from trace")`` after
    ``trace = Trace(path).to_arrow()``.
    """

    COLUMNS = ("thread", "op", "object", "location", "flags", "value")

    def column(self, name: str) -> "Any":
        """One column as a read-only NumPy array that shares the trace's memory; ``None`` if the trace has no such facts.

        ``thread`` indexes ``names("threads")``, ``op`` ``names("ops")`` and ``location`` ``names("locations")``. What ``object`` indexes
        depends on the operation. ``0xffffffff`` stands for nothing. Operations are copied, one byte each.
        """
        import numpy

        found = self.buffer(name)
        return None if found is None else numpy.frombuffer(found[0], dtype=found[1])

    def columns(self) -> "dict[str, Any]":
        """All columns that the trace has, as NumPy arrays."""
        found = {name: self.column(name) for name in self.COLUMNS}
        return {name: array for name, array in found.items() if array is not None}

    def to_arrow(self) -> "Any":
        """The events as a ``pyarrow.Table`` with names instead of numbers: dictionaries over the trace's own columns."""
        import pyarrow

        return pyarrow.table(self)


def _path(trace: "Trace | PathLike") -> str:
    return os.fspath(trace.path if isinstance(trace, _mayhap.Trace) else trace)


def _options(options: "dict[str, Any]") -> "list[str]":
    """``{"budget_nodes": 5, "repair": True}`` as words of a command line."""
    words: "list[str]" = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            words.append(word)
        elif value is None or value is False:
            continue
        elif isinstance(value, (list, tuple)):
            words += [word, ",".join(str(part) for part in value)]
        else:
            words += [word, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return words


def _json(*words: str) -> "Any":
    _, output = _mayhap.command([*words, "--format", "json"])
    return json.loads(output)


def predict(trace: "Trace | PathLike", **options: "Any") -> "dict[str, Any]":
    """Find bugs in other interleavings of the recorded run: the report, as ``mayhap predict --format json`` prints it.

    Options are those of the command: ``predict(trace, kinds=["race", "deadlock"], model="data", threads=2)``.
    """
    return _json("predict", _path(trace), *_options(options))


def detect(trace: "Trace | PathLike", order: str = "wcp", **options: "Any") -> "dict[str, Any]":
    """Suspected races in one pass, by one of the orders lockset, hb, shb, cp, wcp and syncp."""
    return _json("detect", _path(trace), "--order", order, *_options(options))


def check(trace: "Trace | PathLike", **question: "Any") -> "dict[str, Any]":
    """Answer one question about events, given by their numbers from 1: ``check(trace, race=(3, 8))``."""
    return _json("check", _path(trace), *_options(question))


def verify(trace: "Trace | PathLike", witness: PathLike) -> "dict[str, Any]":
    """Have the proof checker judge a witness file."""
    return _json("verify", _path(trace), os.fspath(witness))


def generate(path: PathLike, **shape: "Any") -> Trace:
    """Write a random trace, and read it: ``generate("t.mhp", events=1000, threads=4, races=3, seed=7)``."""
    _mayhap.command(["generate", "-o", os.fspath(path), *_options(shape)])
    return Trace(path)


def report(saved: "dict[str, Any] | PathLike", **outputs: "Any") -> str:
    """Show a report as text, and write it in other forms: ``report(predict(trace), html="r.html", sarif="r.sarif")``."""
    import tempfile

    if not isinstance(saved, dict):
        return _mayhap.command(["report", os.fspath(saved), *_options(outputs)])[1].decode()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(saved, file)
        return report(path, **outputs)
