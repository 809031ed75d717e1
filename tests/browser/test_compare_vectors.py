"""The site's readers of traces and exports, and what writes values, say what tests/vectors says."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from built_site import ROOT, Site
from comparing import NAMES, opened
from playwright.sync_api import Browser, Page

VECTORS = {path.stem: json.loads(path.read_bytes()) for path in sorted((ROOT / "tests" / "vectors").glob("*.json"))}

SAID = """async ({ module, bytes, tables }) => {
  const load = (name) => import(module.replace("NAME", name));
  const { TraceReader } = await load("trace"), { inspect } = await load("inspect"), { decoder } = await load("names");
  const { Refused } = await load("import");
  const packed = Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0));
  const said = [];
  for (const size of [1 << 30, 61]) {
    try {
      const stream = packed[0] === 0x1f && packed[1] === 0x8b
        ? new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")) : new Blob([packed]).stream();
      const whole = new Uint8Array(await new Response(stream).arrayBuffer());
      const reader = new TraceReader();
      for (let at = 0; at < whole.length; at += size) reader.push(whole.slice(at, at + size));
      said.push(inspect(reader.end(), decoder(tables)));
    } catch (error) {
      if (!(error instanceof Refused || error instanceof TypeError && packed[0] === 0x1f)) throw error;
      said.push({ refused: error.message });
    }
  }
  return said;
}"""
FACTS = """async ({ module, exported, paths, tables }) => {
  const load = (name) => import(module.replace("NAME", name));
  const { Facts } = await load("facts"), { decoder } = await load("names"), { NoValue } = await load("format");
  const { check } = await load("import"), { VERSIONS } = await load("store");
  check(exported, VERSIONS);
  const facts = new Facts(exported, decoder(tables));
  return paths.map((path) => {
    try {
      const { value, unit, spread } = facts.get(path);
      return { value: typeof value === "bigint" ? Number(value) : value, unit,
               ...(spread && { low: spread.low, high: spread.high }) };
    } catch (error) {
      if (!(error instanceof NoValue)) throw error;
      return { refused: true };
    }
  });
}"""
SHOWN = """async ({ module, values }) => {
  const { shown, NoValue } = await import(module.replace("NAME", "format"));
  return values.map(([kind, value, spec]) => {
    try { return shown(kind === "int" ? BigInt(value) : value, spec) }
    catch (error) { if (!(error instanceof NoValue)) throw error; return null }
  });
}"""
COME_TO = """async ({ module, known, expressions }) => {
  const { NoValue } = await import(module.replace("NAME", "format"));
  const { parse } = await import(module.replace("NAME", "expressions"));
  const fact = (path) => {
    if (!Object.hasOwn(known, path)) throw new NoValue(path);
    const [kind, value] = known[path];
    return kind === "int" ? BigInt(value) : value;
  };
  const KINDS = { bigint: "int", number: "float", boolean: "bool", string: "str" };
  return expressions.map((written) => {
    try {
      const value = parse(written).compute(fact);
      return [KINDS[typeof value], typeof value === "bigint" ? String(value) : value];
    } catch (error) { if (!(error instanceof NoValue)) throw error; return null }
  });
}"""
DECODED = """async ({ module, names, tables }) => {
  const { decoder, workKind } = await import(module.replace("NAME", "names"));
  const decode = decoder(tables);
  return names.map((name) => {
    const { family, short, summary } = decode(name);
    return [family, short, summary, workKind(tables, name, family)];
  });
}"""
CHANGES = """async ({ module, traces, tables }) => {
  const load = (name) => import(module.replace("NAME", name));
  const { TraceReader } = await load("trace"), { inspect } = await load("inspect"), { decoder } = await load("names");
  const { typical, workChanges } = await load("difference");
  const [a, b] = traces.map((trace) => {
    const reader = new TraceReader();
    reader.push(new TextEncoder().encode(JSON.stringify(trace)));
    const { kinds } = inspect(reader.end(), decoder(tables));
    return kinds[typical(kinds)];
  });
  return workChanges(a, b).map(({ change, a, b }) =>
    [(b ?? a).first.name, change, a && a.count, b && b.count]);
}"""


@pytest.fixture(scope="module")
def page(site: Site, browser: Browser) -> Iterator[Page]:
    made = browser.new_page()
    yield opened(made, site)
    made.close()


def ask(page: Page, site: Site, script: str, **given: Any) -> Any:
    tables = page.evaluate(NAMES)
    return page.evaluate(script, {"module": f"{site.url}assets/compare-NAME.js", "tables": tables, **given})


def given_bytes(vector: dict[str, Any]) -> str:
    """The input, base64."""
    if "bytes" in vector:
        return str(vector["bytes"])
    raw = Path(ROOT / vector["file"]).read_bytes() if "file" in vector else json.dumps(vector["trace"]).encode()
    return base64.b64encode(raw).decode()


def agrees(said: Any, expected: Any) -> bool:
    """README.md of the vectors: numbers agree within 0.002 or a billionth."""
    if isinstance(expected, dict):
        return said.keys() == expected.keys() and all(agrees(said[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(said) == len(expected) and all(map(agrees, said, expected))
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return bool(abs(said - expected) <= max(0.002, 1e-9 * abs(expected)))
    return bool(said == expected)


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "says" in vector])
def test_a_trace_says_what_the_vector_says(page: Page, site: Site, name: str) -> None:
    for said in ask(page, site, SAID, bytes=given_bytes(VECTORS[name])):
        assert agrees(said, VECTORS[name]["says"])


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "refused" in vector])
def test_what_the_vector_refuses_is_refused(page: Page, site: Site, name: str) -> None:
    for said in ask(page, site, SAID, bytes=given_bytes(VECTORS[name])):
        assert list(said) == ["refused"] and said["refused"]


def test_an_export_answers_as_the_vector_says(page: Page, site: Site) -> None:
    vector = VECTORS["export"]
    said = ask(page, site, FACTS, exported=vector["export"], paths=list(vector["facts"]))
    assert len(said) > 500
    for path, answer, expected in zip(vector["facts"], said, vector["facts"].values(), strict=True):
        assert answer.keys() == expected.keys(), path
        for key, value in expected.items():
            near = abs(answer[key] - value) <= 1e-9 * abs(value) if isinstance(value, float) else answer[key] == value
            assert near, (path, key, answer[key], value)


def test_values_are_written_as_the_vector_says(page: Page, site: Site) -> None:
    vector = VECTORS["shown"]
    said = ask(page, site, SHOWN, values=vector["values"])
    for value, written, expected in zip(vector["values"], said, vector["shown"], strict=True):
        assert written == expected, value


def test_expressions_come_to_what_the_vector_says(page: Page, site: Site) -> None:
    vector = VECTORS["expressions"]
    said = ask(page, site, COME_TO, known=vector["known"], expressions=vector["expressions"])
    for written, value, expected in zip(vector["expressions"], said, vector["come_to"], strict=True):
        told = value and [value[0], float(value[1]) if value[0] == "float" else value[1]]  # 3e19 comes as an int
        assert told == expected, written


def test_names_are_decoded_as_the_vector_says(page: Page, site: Site) -> None:
    vector = VECTORS["names"]
    said = ask(page, site, DECODED, names=vector["names"])
    for name, told, expected in zip(vector["names"], said, vector["decoded"], strict=True):
        assert told == expected, name


def test_two_traces_differ_as_the_vector_says(page: Page, site: Site) -> None:
    assert ask(page, site, CHANGES, traces=VECTORS["difference"]["traces"]) == VECTORS["difference"]["changes"]


def test_both_languages_read_the_same_versions_of_exports(page: Page, site: Site) -> None:
    from build_traces.export_format import FORMAT, SCHEMA
    from build_traces.recording import PROTOCOL
    from build_traces.sweep_record import SWEEP_PROTOCOL

    script = "async ({ module }) => (await import(module.replace('NAME', 'store'))).VERSIONS"
    ours = {"format": FORMAT, "schema": SCHEMA, "protocol": PROTOCOL, "sweepProtocol": SWEEP_PROTOCOL}
    assert ask(page, site, script) == ours
