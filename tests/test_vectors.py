"""tests/vectors: the Python reader says of each input what the vector says."""

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from build_traces import imported, inspection
from build_traces.errors import BuildTracesError, TraceError
from build_traces.facts import Facts

ROOT = Path(__file__).parents[1]
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


def test_every_vector_has_one_input_and_one_outcome() -> None:
    assert len(VECTORS) > 25
    for name, vector in VECTORS.items():
        assert len({"trace", "file", "bytes", "export"} & vector.keys()) == 1, name
        assert len({"says", "refused", "facts"} & vector.keys()) == 1, name
        assert vector["about"].endswith("."), name
