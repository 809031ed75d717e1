"""A small budget of fuzzing in every run of the tests; tests/fuzz/run.py goes on for as long as you like."""

import gzip
import json
from typing import Any

import pytest
import run
import target
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutate import HOSTILE, KEYS, VALUES, mutated

few = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def corpus() -> list[bytes]:
    return run.corpus()


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*HOSTILE, *VALUES])
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)
times = st.integers(-100, 10_000) | st.floats(-1e6, 1e6) | values
events = st.fixed_dictionaries(
    {
        "ph": st.just("X") | values,
        "cat": st.sampled_from(VALUES[5:12]) | values,
        "name": st.sampled_from(VALUES) | values,
    },
    optional={
        "ts": times,
        "dur": times,
        "pid": st.integers(0, 2) | values,
        "tid": st.integers(0, 2) | values,
        "args": st.dictionaries(
            st.sampled_from(KEYS), st.integers(-1, 5) | st.lists(st.integers(), max_size=3) | values
        ),
    },
)
traces = st.fixed_dictionaries(
    {"traceEvents": st.lists(events, max_size=12)}, optional=dict.fromkeys(KEYS[-3:], values)
)


@few
@given(trace=traces | st.lists(events) | values)
def test_any_json_is_read_or_refused(trace: Any) -> None:
    target.read_trace(json.dumps(trace).encode())


@few
@given(raw=st.binary())
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    target.read_packed(raw)
    target.read_packed(b"\x1f\x8b\x08\x00" + raw)
    target.read_export(raw)


@few
@given(which=st.integers(0, 7), seed=st.integers(0, 2**60))
def test_a_changed_file_is_read_or_refused(corpus: list[bytes], which: int, seed: int) -> None:
    run.one(mutated(corpus[which], seed))


@few
@given(which=st.integers(0, 6), seed=st.integers(0, 2**60))
def test_a_changed_packed_file_is_read_or_refused(corpus: list[bytes], which: int, seed: int) -> None:
    run.one(mutated(gzip.compress(corpus[which], 1), seed))


def test_the_corpus_itself_is_read(corpus: list[bytes]) -> None:
    assert [run.one(raw).split()[1] for raw in corpus] == ["read"] * len(corpus)
    assert len(corpus) == 9


def test_what_was_once_found_stays_mended() -> None:
    """Inputs on which a reader once failed, each with what it was."""
    for raw in FOUND:
        run.one(raw)


FOUND: tuple[bytes, ...] = ()
