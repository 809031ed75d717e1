"""Fuzz the readers for as long as you like; ends at the first input that is neither read nor refused.

    python tests/fuzz/run.py --minutes 60              with this project's own mutations
    python tests/fuzz/run.py --minutes 60 --atheris    guided by coverage; needs `pip install atheris`

What fails is written to tests/fuzz/found/ and named. Both print how many inputs were read and how many refused.
"""

import argparse
import hashlib
import json
import random
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]
LONGEST_S = 20
FOUND = HERE / "found"


def corpus() -> list[bytes]:
    """Small real traces, unpacked, what hands have written, and an export."""
    from build_traces import export, ladder, recording
    from build_traces.trace import load

    sys.path.append(str(ROOT / "tests"))
    import small_traces

    names = ("backward_thread.json", "cpu_only.json.gz", "triton_example.json.gz", "h200_probe/linear_eager.json.gz",
             "h200_probe/mlp_cudagraph.json.gz", "amd_mi250.json.gz")  # fmt: skip
    traces = [load(ROOT / "tests" / "traces" / name) for name in names]
    folders = sorted((ROOT / "docs" / "recordings").glob("*/environment.json"))
    recorded = recording.open_recording(folders[0].parent)
    exported = export.encode(export.export(recorded, ladder.load(ROOT / "snippets")))
    few = json.loads(exported)
    few["stages"] = few["stages"][:1]
    return [*traces, small_traces.text(*small_traces.TWO_STEPS), json.dumps(few).encode(), exported]


def one(raw: bytes) -> str:
    """What becomes of an input, by the reader that it looks like it is for."""
    import target

    if raw[:200].lstrip().startswith(b'{"format"'):
        return "export " + target.read_export(raw)
    return "packed " + target.read_packed(raw) if raw.startswith(b"\x1f\x8b") else "trace " + target.read_trace(raw)


def keep(raw: bytes) -> Path:
    """Write an input that failed."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / hashlib.sha256(raw).hexdigest()[:16]
    path.write_bytes(raw)
    return path


def with_mutations(minutes: float, seed: int) -> int:
    """Our own mutations; returns the exit code."""
    import gzip

    from mutate import mutated

    def too_long(*_: object) -> None:
        raise TimeoutError(f"an input took longer than {LONGEST_S} s")

    signal.signal(signal.SIGALRM, too_long)
    seen, known = Counter[str](), corpus()
    chance, end = random.Random(seed), time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        number = chance.getrandbits(60)
        raw = mutated(chance.choice(known), number)
        if chance.random() < 0.1:
            raw = mutated(gzip.compress(raw, 1), number)
        signal.alarm(LONGEST_S)
        try:
            seen[one(raw)] += 1
        except Exception:
            traceback.print_exc()
            print(f"after {seen.total():,} inputs: {keep(raw)}")
            return 1
        finally:
            signal.alarm(0)
    print(f"{seen.total():,} inputs in {minutes:g} minutes: {dict(sorted(seen.items()))}")
    return 0


def with_atheris(minutes: float) -> int:
    """Coverage-guided, with our mutations among libFuzzer's."""
    import atheris

    with atheris.instrument_imports(include=["build_traces"]):
        import target  # noqa: F401
    from mutate import mutated

    seen = Counter[str]()

    def take(raw: bytes) -> None:
        seen[one(raw)] += 1
        if seen.total() % 5_000 == 0:
            print(f"{seen.total():,} inputs: {dict(sorted(seen.items()))}", flush=True)

    def mutate(raw: bytes, max_size: int, seed: int) -> bytes:
        return (mutated(raw, seed) if seed % 3 else atheris.Mutate(raw, max_size))[:max_size]

    start = HERE / "corpus"
    start.mkdir(exist_ok=True)
    for raw in corpus():
        (start / hashlib.sha256(raw).hexdigest()[:16]).write_bytes(raw)
    FOUND.mkdir(exist_ok=True)
    options = [f"-max_total_time={int(60 * minutes)}", f"-timeout={LONGEST_S}", "-max_len=200000", "-rss_limit_mb=4000",
               f"-artifact_prefix={FOUND}/", str(start)]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], take, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--atheris", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args()
    sys.exit(with_atheris(given.minutes) if given.atheris else with_mutations(given.minutes, given.seed))
