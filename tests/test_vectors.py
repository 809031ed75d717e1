"""tests/vectors: the Python reader says of each input what the vector says."""

import base64
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from build_traces import imported, inspection
from build_traces.errors import BuildTracesError, TraceError
from build_traces.facts import CALL_FIELDS, KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS, SWEEP_FACTS, Facts

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "vectors"))
import make  # noqa: E402

INPUTS = {"trace", "file", "bytes", "export", "traces", "values", "expressions", "names"}
OUTCOMES = {"says", "refused", "facts", "changes", "shown", "come_to", "decoded"}
VECTORS = {path.stem: json.loads(path.read_bytes()) for path in sorted((ROOT / "tests" / "vectors").glob("*.json"))}


def given(vector: dict[str, Any], tmp_path: Path) -> Path:
    """The input as a file."""
    if "file" in vector:
        return ROOT / vector["file"]
    path = tmp_path / "given.json"
    path.write_bytes(base64.b64decode(vector["bytes"]) if "bytes" in vector else json.dumps(vector["trace"]).encode())
    return path


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "says" in vector])
def test_a_trace_says_what_the_vector_says(name: str, tmp_path: Path) -> None:
    said = json.loads(msgspec.json.encode(inspection.inspect(given(VECTORS[name], tmp_path))))
    del said["about"]["source"]
    assert said == VECTORS[name]["says"]


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "refused" in vector])
def test_what_the_vector_refuses_is_refused_with_its_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        inspection.inspect(given(VECTORS[name], tmp_path))
    assert caught.value.message == VECTORS[name]["refused"]


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "export" in vector])
def test_an_export_answers_as_the_vector_says(name: str) -> None:
    recording, ladder = imported.parse(json.dumps(VECTORS[name]["export"]).encode())
    facts = Facts(recording, ladder)
    for path, expected in VECTORS[name]["facts"].items():
        try:
            fact = facts.get(path)
        except BuildTracesError:
            assert expected == {"refused": True}, path
            continue
        assert (fact.value, fact.unit) == (expected["value"], expected["unit"]), path
        if fact.spread:
            assert (fact.spread.low, fact.spread.high) == (expected["low"], expected["high"]), path


def test_values_are_written_as_the_vector_says() -> None:
    vector = VECTORS["shown"]
    for (kind, value, spec), expected in zip(vector["values"], vector["shown"], strict=True):
        assert make.written(kind, value, spec) == expected, (kind, value, spec)


def test_expressions_come_to_what_the_vector_says() -> None:
    vector = VECTORS["expressions"]
    assert vector["known"] == {path: make.typed(value) for path, value in make.KNOWN.items()}
    for expression, expected in zip(vector["expressions"], vector["come_to"], strict=True):
        assert make.comes_to(expression) == expected, expression


def test_names_are_decoded_as_the_vector_says() -> None:
    vector = VECTORS["names"]
    for name, expected in zip(vector["names"], vector["decoded"], strict=True):
        assert make.decoded(name) == expected, name


def test_two_traces_differ_as_the_vector_says() -> None:
    assert make.differences(VECTORS["difference"]["traces"]) == VECTORS["difference"]["changes"]


def test_the_vector_of_an_export_asks_for_every_fact_there_is() -> None:
    """So that no fact is added to one language alone; make.py writes the vector anew."""
    asked = VECTORS["export"]["facts"]
    last = {path.rpartition(".")[2] for path in asked} | {part for path in asked for part in path.split(".")[1:3]}
    vocabularies = (STAGE_FACTS, KERNEL_FIELDS, RECORDING_FACTS, SWEEP_FACTS, CALL_FIELDS)
    assert {name for vocabulary in vocabularies for name in vocabulary} <= last
    answered = {path for path, answer in asked.items() if "value" in answer}
    assert len(answered) > 400


def test_every_vector_has_one_input_and_one_outcome() -> None:
    assert len(VECTORS) > 25
    for name, vector in VECTORS.items():
        assert len(INPUTS & vector.keys()) == 1, name
        assert len(OUTCOMES & vector.keys()) == 1, name
        assert vector["about"].endswith("."), name
