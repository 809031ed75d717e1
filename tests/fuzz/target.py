"""What every input must come to: it is read or refused with a sentence, and nothing it holds reaches a terminal."""

import io
import json
import re
import tempfile
from pathlib import Path

from build_traces import imported, inspect_report, inspection, trace
from build_traces.difference import between
from build_traces.difference_report import report as difference_report
from build_traces.errors import BuildTracesError, TraceError
from build_traces.facts import CALL_FIELDS, SWEEP_FACTS, Facts
from build_traces.terminal import ascii_json, console
from build_traces.trace import events, file

ACTS_ON_A_TERMINAL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
SMALL_PIECE = 200
FACTS = ("kernel_count", "time_us", "gpu_us", "launch_count", "op_count", "step_us", "unlaunched_kernels", "draws")


def read_trace(raw: bytes) -> str:
    """`read` or `refused`; raises AssertionError, and anything else that a reader must not raise."""
    try:
        found = trace.parse(raw, "given.json")
    except TraceError as error:
        _check_sentence(error)
        outcome = "refused"
    else:
        assert isinstance(found, trace.Trace)
        outcome = "read"
    said = _inspected(raw, events.PIECE_BYTES)
    in_pieces = _inspected(raw, SMALL_PIECE)
    assert said is not None or outcome == "refused", "what is read whole can be inspected, which asks for less"
    if said is not None:
        assert in_pieces is None or in_pieces == said
        _check_output(said)
    return outcome


def _inspected(raw: bytes, piece_bytes: int) -> inspection.Inspection | None:
    usual = events.PIECE_BYTES
    events.PIECE_BYTES = piece_bytes
    try:
        blocks = [raw[at : at + piece_bytes] for at in range(0, len(raw), piece_bytes)]
        found = events.collect(blocks, "given.json", full=False)
        return inspection.say(found, trace.tie(found, "given.json"), "given.json")
    except TraceError as error:
        _check_sentence(error)
        return None
    finally:
        events.PIECE_BYTES = usual


def _check_sentence(error: BuildTracesError) -> None:
    assert error.message
    assert len(str(error)) < 5_000
    assert not ACTS_ON_A_TERMINAL.search(str(error)), repr(str(error))


def _check_output(said: inspection.Inspection) -> None:
    text = ascii_json(said)
    assert text.isascii()
    assert not ACTS_ON_A_TERMINAL.search(text)
    assert json.loads(text)["schema"] == inspection.SCHEMA
    screen = io.StringIO()
    for part in (*inspect_report.report(said), *difference_report(between(said, said, "a", "b"))):
        console(screen).print(part)
    assert not ACTS_ON_A_TERMINAL.search(screen.getvalue())


def read_packed(raw: bytes) -> str:
    """The same of a file as it lies on the disk, packed or not."""
    with tempfile.NamedTemporaryFile(suffix=".json.gz") as given:
        given.write(raw)
        given.flush()
        try:
            unpacked = file.load(Path(given.name), max_bytes=50_000_000)
        except TraceError as error:
            _check_sentence(error)
            return "refused"
    return read_trace(unpacked)


def read_export(raw: bytes) -> str:
    """`read` or `refused`, of an export."""
    try:
        recording, ladder = imported.parse(raw)
    except imported.DamageError as error:
        assert not ACTS_ON_A_TERMINAL.search(str(error)), repr(str(error))
        return "refused"
    facts = Facts(recording, ladder)
    for stage in ladder.names:
        for name in FACTS:
            try:
                facts.get(f"{stage}.{name}")
            except BuildTracesError:
                continue
    for sweep in ladder.sweep_names:
        asked = [f"call.{call}.{field}" for call in facts.sweep(sweep).calls for field in CALL_FIELDS]
        for name in (*SWEEP_FACTS, *asked):
            try:
                facts.get(f"{sweep}.{name}")
            except BuildTracesError:
                continue
    screen = io.StringIO()
    for part in difference_report(between((recording, ladder), (recording, ladder), "a", "b")):
        console(screen).print(part)
    assert not ACTS_ON_A_TERMINAL.search(screen.getvalue())
    return "read"
