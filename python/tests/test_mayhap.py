"""The package against the traces that it makes itself."""

import json
import threading
import time

import pytest

import mayhap


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "t.mhp"
    return mayhap.generate(path, events=3000, threads=4, races=3, deadlocks=1, seed=7)


def test_a_trace_knows_what_is_in_it(trace):
    assert len(trace) == 3000
    assert len(trace.names("threads")) == 4
    assert "r" in trace.names("ops") and "acq" in trace.names("ops")
    assert "3000 events, 4 threads" in repr(trace)
    assert len(trace.fingerprint) == 32
    with pytest.raises(KeyError):
        trace.names("colours")


def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path):
    bad = tmp_path / "bad.std"
    bad.write_text("T1|r(x)|1\nnonsense\n")
    with pytest.raises(mayhap.MayhapError, match="line 2"):
        mayhap.Trace(bad)
    with pytest.raises(mayhap.MayhapError, match="absent.std"):
        mayhap.predict(tmp_path / "absent.std")
    with pytest.raises(mayhap.MayhapError, match="kinds"):
        mayhap.predict(bad, kinds="colours")


def test_columns_share_the_memory_of_the_trace(trace):
    numpy = pytest.importorskip("numpy")
    columns = trace.columns()
    assert set(columns) >= {"thread", "op", "object", "location"}
    assert all(len(column) == len(trace) for column in columns.values())
    first, again = trace.column("object"), trace.column("object")
    assert first.ctypes.data == again.ctypes.data
    assert not first.flags.writeable
    ops = numpy.array(trace.names("ops"))[columns["op"]]
    assert (ops == "fork").sum() == 3
    with pytest.raises(KeyError):
        trace.column("colour")


def test_a_column_outlives_its_trace(tmp_path):
    numpy = pytest.importorskip("numpy")
    other = mayhap.generate(tmp_path / "o.mhp", events=1000, threads=3, seed=1)
    column = other.column("object")
    before = column.copy()
    del other
    numpy.testing.assert_array_equal(column, before)


def test_the_arrow_table_says_what_the_text_says(trace, tmp_path):
    pytest.importorskip("pyarrow")
    table = trace.to_arrow()
    assert table.num_rows == len(trace)
    text = tmp_path / "t.std"
    from mayhap import _mayhap

    _mayhap.command(["convert", str(trace.path), str(text)])
    lines = [line for line in text.read_text().splitlines() if not line.startswith("#")]
    rows = table.slice(0, 200).to_pylist()
    for line, row in zip(lines, rows):
        thread, what, *rest = line.split("|")
        assert row["thread"] == thread
        assert what.split("(")[0].split(".")[0] == row["op"]
        if "(" in what:
            assert what.split("(")[1].split(")")[0] == row["object"]
        assert (rest[0] if rest else None) == row["location"]


def test_ten_million_events_are_a_table_within_a_second(tmp_path):
    pytest.importorskip("pyarrow")
    large = mayhap.generate(tmp_path / "l.mhp", events=10_000_000, threads=8, seed=1)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        table = large.to_arrow()
        times.append(time.perf_counter() - began)
    assert table.num_rows == 10_000_000
    print("seconds:", *(f"{seconds:.2f}" for seconds in times))
    assert min(times) < 1, times


def test_duckdb_polars_and_pandas_read_traces(trace):
    pytest.importorskip("pyarrow")
    events = trace.to_arrow()
    try:
        import duckdb
    except ImportError:
        duckdb = None
    if duckdb:
        found = duckdb.sql("select op, count(*) as n from events group by op order by op").fetchall()
        assert dict(found)["fork"] == 3
    try:
        import polars
    except ImportError:
        polars = None
    if polars:
        assert polars.DataFrame(trace).height == len(trace)
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    assert (events.to_pandas()["op"] == "fork").sum() == 3


def test_predict_check_verify_and_report(trace, tmp_path):
    report = mayhap.predict(trace, witnesses=tmp_path / "w", threads=1)
    kinds = [finding["kind"] for finding in report["findings"]]
    assert kinds.count("race") == 3 and kinds.count("deadlock") == 1
    race = next(finding for finding in report["findings"] if finding["kind"] == "race")
    numbers = [event["event"] for event in race["events"]]
    assert mayhap.check(trace, race=numbers)["verdict"] == "proven"
    witness = next((tmp_path / "w").glob("race-*.json"))
    assert mayhap.verify(trace, witness)["verdict"] == "accepted"
    text = mayhap.report(report, html=tmp_path / "r.html", sarif=tmp_path / "r.sarif", quiet=True)
    assert "[proven race-" in text
    assert json.loads((tmp_path / "r.sarif").read_text())["version"] == "2.1.0"
    assert "<html" in (tmp_path / "r.html").read_text()


def test_detect_has_an_order(trace):
    found = mayhap.detect(trace, order="hb")
    assert found["order"] == "hb" and found["racy_events"] >= 1


def test_other_threads_run_while_it_predicts(tmp_path):
    large = mayhap.generate(tmp_path / "l.mhp", events=300_000, threads=6, races=20, seed=3)
    done = threading.Event()

    def work():
        mayhap.predict(large, threads=1)
        done.set()

    worker = threading.Thread(target=work)
    ticks = 0
    worker.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    worker.join()
    assert ticks > 1
