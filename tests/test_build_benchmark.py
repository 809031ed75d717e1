"""benchmarks.build: what it builds beside the site is the same pages, and its many chapters are fresh."""

from pathlib import Path

import pytest

from benchmarks import build
from build_traces import freshness, ladder, recording

PAGE = """<html><body><article><h1>A</h1>
<p>Runs <data class="fact" data-fact="a.b" value="5">5</data> kernels, <code>{{ not.one }}</code>.</p>
<figure class="trace-block trace-block--kernels"><p>In it <data class="fact" data-fact="c.d" value="6">6</data>.</p>
</figure><p>And <data class="computed" data-expression="2 * {{a.b}}" value="10">10</data>.</p></article></body>
</html>"""
SOURCE = """# A

Runs {{ a.b }} kernels, `{{ not.one }}`.

/// kernels | a
    option: 1
///

```text
/// kernels | a
///
{{ a.b }}
```

And {{ 2 * {a.b} :.0f }}.
"""


def test_blocks_and_facts_become_what_they_were_rendered_to_and_code_stays() -> None:
    text, count = build.rendered(SOURCE, PAGE)
    assert count == 3
    assert 'Runs <data class="fact" data-fact="a.b" value="5">5</data> kernels, `{{ not.one }}`.' in text
    assert '<figure class="trace-block trace-block--kernels">' in text and "In it <data" in text
    assert "```text\n/// kernels | a\n///\n{{ a.b }}\n```" in text
    assert 'And <data class="computed" data-expression="2 * {{a.b}}" value="10">10</data>.' in text


def test_the_configuration_without_our_extension_names_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text((build.ROOT / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    build.without_extension(tmp_path)
    text = (tmp_path / "mkdocs.yml").read_text(encoding="utf-8")
    assert "build_traces" not in text and "markdown_exec" not in text
    assert "  - pymdownx.superfences\n" in text and "  - pymdownx.snippets:\n" in text


def test_each_of_many_chapters_has_a_fresh_stage_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.write_many(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    assert sorted(path.name for path in Path("docs/chapters").iterdir()) == ["many_000.md", "many_001.md"]
    (folder,) = Path("docs/recordings").iterdir()
    opened, stages = recording.open_recording(folder), ladder.load(Path("snippets"))
    states = {s.stage.name: s.state for s in freshness.statuses(stages, folder, opened.environment.machine)}
    assert states["many_000"] == states["many_001"] == freshness.State.FRESH
    assert "many_001" in Path("docs/chapters/many_001.md").read_text(encoding="utf-8")
    assert "mlp_eager" not in Path("docs/chapters/many_001.md").read_text(encoding="utf-8")
