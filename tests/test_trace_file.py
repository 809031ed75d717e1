"""build_traces.trace on files: what is bounded, and that a file read in pieces is the file read whole."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
from small_traces import TWO_STEPS, event, kernel, op, text

from build_traces import trace
from build_traces.errors import TraceError
from build_traces.trace import Trace, events, file

TRACES = Path(__file__).parent / "traces"
FILES = sorted(TRACES.rglob("*.json*"))


def bomb(megabytes: int) -> bytes:
    """A gzip of spaces, a thousandth of what it unpacks to."""
    return gzip.compress(b" " * (megabytes << 20))


def test_a_file_that_unpacks_to_more_than_allowed_is_refused_and_says_how_much(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(bomb(40))
    assert path.stat().st_size < 100_000
    with pytest.raises(TraceError, match=r"unpacks to more than 0\.0315 GB") as caught:
        file.load(path, max_bytes=30 << 20)
    assert "--max-gb" in str(caught.value)


def test_a_bomb_with_no_event_in_it_is_refused_long_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(
        b'{"traceEvents":[' + b"x" if False else gzip.compress(b'{"traceEvents":[' + b" " * (400 << 20), 1)
    )
    started = time.monotonic()
    with pytest.raises(TraceError, match="no end of an event in 64 MB"):
        trace.read(path)
    assert time.monotonic() - started < 10


def test_a_plain_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(text(*TWO_STEPS))
    with pytest.raises(TraceError, match="larger than"):
        file.load(path, max_bytes=100)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_two_bytes_a_letter_are_refused_by_name(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "given.json"
    marked = encoding.endswith(("16", "32"))
    path.write_bytes(text(*TWO_STEPS).decode().encode(encoding))
    with pytest.raises(TraceError, match="UTF-16" if marked else "not valid JSON"):
        trace.read(path)


def test_a_mark_in_front_of_utf8_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(b"\xef\xbb\xbf" + text(*TWO_STEPS))
    assert len(trace.read(path).steps) == 2


def test_progress_is_told_in_bytes_of_the_file_as_it_lies_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "given.json.gz"
    path.write_bytes(gzip.compress(text(*TWO_STEPS)))
    told: list[int] = []
    trace.read_ties(path, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size


# --- pieces -------------------------------------------------------------------------------------------------------


def in_pieces(raw: bytes, piece_bytes: int, monkeypatch: pytest.MonkeyPatch, block_bytes: int = 0) -> Trace:
    monkeypatch.setattr(events, "PIECE_BYTES", piece_bytes)
    size = block_bytes or piece_bytes
    blocks = [raw[at : at + size] for at in range(0, len(raw), size)]
    return trace._typed(events.collect(blocks, "given.json", full=True), "given.json")


def comparable(found: Trace) -> list[Any]:
    """A trace without the text of shapes, which compares by the buffer that it lies in."""
    return [found.gpu, found.steps, [repr(op)[:-40] for op in found.ops], found.calls, found.activities]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize(("piece_bytes", "block_bytes"), [(1, 100), (500, 500), (4_000, 333), (20_000, 7_000)])
def test_a_file_cut_between_events_is_the_whole_file(
    path: Path, piece_bytes: int, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = trace.load(path)
    whole = trace.parse(raw, "given.json")
    found = in_pieces(raw, piece_bytes, monkeypatch, block_bytes)
    assert (found.gpu, found.steps, found.calls, found.activities) == (
        whole.gpu, whole.steps, whole.calls, whole.activities,
    )  # fmt: skip
    for mine, other in zip(found.ops, whole.ops, strict=True):
        assert bytes(mine.input_dims) == bytes(other.input_dims)
        assert (mine.index, mine.parent, mine.depth, mine.kind, mine.name, mine.thread, mine.step) == (
            other.index, other.parent, other.depth, other.kind, other.name, other.thread, other.step,
        )  # fmt: skip
        assert (mine.start_us, mine.dur_us) == (other.start_us, other.dur_us)


ODD = {
    "objects in lists inside arguments": json.dumps({"a": [{"ph": 1}, {"ph": 2}, {"b": [{"c": 1}, {"d": 2}]}]}),
    "lists of lists of objects inside arguments": json.dumps({"a": [[{"ph": 1}, {"ph": 2}], [{"ph": 3}, {"ph": 4}]]}),
    "text that looks like the begin of an event": json.dumps(
        {"a": '},{"ph":"X","cat":"kernel"', "b": '"traceEvents":[{'}
    ),
    "text that ends in what looks like one": json.dumps({"a": "},{", "b": "},{"}),
    "escaped quotes": json.dumps({"a": '\\"},{\\"ph\\":'}),
}


@pytest.mark.parametrize("args", ODD.values(), ids=ODD)
def test_what_looks_like_the_end_of_an_event_is_not_taken_for_one(args: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ",".join(
        f'{{"args":{args},"ph":"X","cat":"cpu_op","name":"a{n}","pid":1,"tid":1,"ts":{n},"dur":0.5}}' for n in range(9)
    )
    before, behind = '"deviceProperties":[{"name":"X"},{"name":"Y"}]', '"more":[{"ph":"X"},{"ph":"X"},{"ph":"X"}]'
    raw = f'{{{before},"traceEvents":[{rows}],{behind}}}'.encode()
    for piece_bytes in (1, 10, 50, 100, 200, 300, 1_000):
        found = in_pieces(raw, piece_bytes, monkeypatch)
        assert [op.name for op in found.ops] == [f"a{n}" for n in range(9)]
        assert found.gpu == "X"


def test_an_array_of_events_is_cut_like_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = json.dumps([op(f"a{n}", n, 0.5) for n in range(50)]).encode()
    assert len(in_pieces(raw, 300, monkeypatch).ops) == 50


def test_only_the_piece_that_needs_it_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [op(f"a{n}", n, 0.5) for n in range(50)]
    raw = text(*rows).replace(b'"a25"', b'"C:\\Users\x01"')
    mended: list[bytes] = []
    repair = events.repair
    monkeypatch.setattr(events, "repair", lambda raw: mended.append(raw) or repair(raw))
    found = in_pieces(raw, 600, monkeypatch)
    assert found.ops[25].name == "C:\\Users\x01"
    assert len(mended) == 1
    assert len(mended[0]) < 1_500


def test_a_piece_of_another_version_is_read_the_slow_way_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = kernel("k", 1, 25, 0.5) | {"tid": "stream 7"}
    old["args"] |= {"grid": "[2, 1, 1]", "correlation": "0x1"}
    rows = [*(op(f"a{n}", n, 0.5) for n in range(25)), old, event("xpu_thing", "x", 1, 1)]
    rows += [op(f"a{n}", n, 0.5) for n in range(25, 50)]
    found = in_pieces(text(*rows), 600, monkeypatch)
    assert len(found.ops) == 50
    assert (found.activities[0].grid, found.activities[0].correlation) == ((2, 1, 1), 1)


def test_a_fault_is_named_with_its_place_in_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [op(f"a{n}", n, 0.5) for n in range(50)]
    rows[40]["ts"] = "soon"
    with pytest.raises(TraceError, match=r"traceEvents\[40\]\.ts"):
        in_pieces(text(*rows), 600, monkeypatch)
    raw = text(*rows[:40])
    at = raw.index(b'"ts": 30') + len(b'"ts": 3')
    broken = raw[:at] + b" " + raw[at:]
    with pytest.raises(TraceError, match=r"not valid JSON.*byte \d+") as caught:
        in_pieces(broken, 600, monkeypatch)
    place = int(str(caught.value).partition("(byte ")[2].partition(")")[0])
    assert abs(place - at) < 10


@pytest.mark.parametrize("cut", [1, 2, 10, 100, 1_000])
def test_a_file_that_was_cut_short_is_refused_in_pieces_too(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = text(*(op(f"a{n}", n, 0.5) for n in range(50)))
    with pytest.raises(TraceError, match="not valid JSON"):
        in_pieces(raw[:-cut], 600, monkeypatch)


def test_a_name_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(text(op("x" * 10_000_000, 0, 1), *TWO_STEPS))
    assert max(len(op.name) for op in trace.read(path).ops) == 10_000_000


def test_shapes_are_kept_whole_from_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [op(f"a{n}", n, 0.5) | {"args": {"Input Dims": [[n, n]]}} for n in range(50)]
    found = in_pieces(text(*rows), 300, monkeypatch)
    assert [json.loads(bytes(op.input_dims)) for op in found.ops] == [[[n, n]] for n in range(50)]
