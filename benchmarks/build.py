"""Print how long the site takes to build, beside the same pages already rendered, many chapters, and a saved one.

    python -m benchmarks.build [ratio] [many] [serve] [--repeat 3] [--sizes 25 50 100]

ratio: the site against the same pages under Material without our extension, each block and fact in them replaced by
the HTML that it became; both with the theme's overrides and the labs. Builds alternate, each in a process of its own.
many: chapters with a stage each, all made from one; with the extension and without it, as a page's navigation names
every other page under any theme. serve: from the moment a chapter is saved until `nox -s serve` shows it.
Times are CPU seconds of the process, the median of the repetitions; those of `serve` are by the clock.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from build_traces import ladder
from build_traces.html_tree import first, parse
from build_traces.markdown import BLOCKS

ROOT = Path(__file__).parents[1]
RATIO_BAR, SERVE_BAR_S = 1.3, 2.0
LINEAR_BAR = 1.5
"""A chapter of many may take so much longer than one of few."""
CODE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$|(?<!`)(`+)(?!`).*?(?<!`)\3(?!`)", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(
    rf"^(?P<slashes>/{{3,}}) +(?:{'|'.join(BLOCKS)})\b.*?^(?P=slashes) *$|\{{\{{.*?\}}\}}", re.DOTALL | re.MULTILINE
)
RENDERED = {"trace-block", "predict"}
VALUES = {"fact", "computed", "unrecorded"}
STAGE = "mlp_eager"
SAVED = "chapters/three-linears-and-a-gate"
EXTENSION = re.compile(r"^  - build_traces\.markdown:\n(?:      .*\n)+", re.MULTILINE)
CUSTOM_FENCES = re.compile(r"^  - pymdownx\.superfences:\n(?:      .*\n)+", re.MULTILINE)


def copy_site(to: Path) -> Path:
    """Everything that the site is made of."""
    for folder in ("docs", "kernel", "overrides", "snippets"):
        shutil.copytree(ROOT / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "mkdocs.yml", to / "mkdocs.yml")
    return to


def environment() -> dict[str, str]:
    """What a build is started with."""
    return os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}


def build_s(root: Path) -> float:
    """CPU seconds of one build."""
    before = os.times()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--site-dir", "site"]
    done = subprocess.run(command, cwd=root, env=environment(), capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode:
        raise SystemExit(done.stderr)
    return after.children_user + after.children_system - before.children_user - before.children_system


def alternate(roots: list[Path], repeat: int) -> list[float]:
    """The median of each; they take turns, so that what else the machine does meets all of them."""
    runs = [[build_s(root) for root in roots] for _ in range(repeat)]
    return [statistics.median(times) for times in zip(*runs, strict=True)]


# The same pages, rendered


def without_extension(root: Path) -> None:
    """Take our extension and fence out of the configuration."""
    path = root / "mkdocs.yml"
    text = EXTENSION.sub("", path.read_text(encoding="utf-8"))
    path.write_text(CUSTOM_FENCES.sub("  - pymdownx.superfences\n", text), encoding="utf-8")


def render_sources(root: Path, site: Path) -> int:
    """Replace what the extension renders in the pages below `root` by what it is in `site`; how many were replaced."""
    replaced = 0
    for source in sorted((root / "docs").rglob("*.md")):
        address = source.relative_to(root / "docs").with_suffix("")
        built = site / (address.parent if address.name == "index" else address) / "index.html"
        if built.is_file():
            text, count = rendered(source.read_text(encoding="utf-8"), built.read_text(encoding="utf-8"))
            source.write_text(text, encoding="utf-8")
            replaced += count
    return replaced


def rendered(source: str, page: str) -> tuple[str, int]:
    """A page's source with its blocks and facts as HTML, and their number."""
    article = first(parse(page), "article")
    assert article is not None
    blocks, values = _html(_outermost(article, RENDERED)), _html(_outermost(article, VALUES, RENDERED))
    count = 0

    def html(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"\n{next(blocks)}\n" if match["slashes"] else next(values)

    code = [match.span() for match in CODE.finditer(source)]
    pieces, end = [], 0
    for match in BLOCK.finditer(source):
        if not any(begin <= match.start() < stop for begin, stop in code):
            pieces += [source[end : match.start()], html(match)]
            end = match.end()
    return "".join([*pieces, source[end:]]), count


def _html(elements: Iterator[Element]) -> Iterator[str]:
    for element in elements:
        element.tail = None
        yield " ".join(tostring(element, encoding="unicode", method="html").split("\n"))


def _outermost(
    element: Element, classes: set[str], but_in: frozenset[str] | set[str] = frozenset()
) -> Iterator[Element]:
    for child in element:
        named = set(child.get("class", "").split())
        if named & classes:
            yield child
        elif not named & but_in:
            yield from _outermost(child, classes, but_in)


def ratio(repeat: int) -> bool:
    """Print the site's time against that of its pages already rendered."""
    with tempfile.TemporaryDirectory() as folder:
        ours, plain = copy_site(Path(folder) / "ours"), copy_site(Path(folder) / "plain")
        build_s(ours)
        replaced = render_sources(plain, ours / "site")
        without_extension(plain)
        ours_s, plain_s = alternate([ours, plain], repeat)
        size = [sum(len(page.read_bytes()) for page in (root / "site").rglob("*.html")) for root in (ours, plain)]
    found = ours_s / plain_s
    print(
        f"ratio: {replaced} blocks and facts; ours {ours_s:.2f} s, rendered {plain_s:.2f} s: {found:.2f} times", end=""
    )
    print(f" (bar {RATIO_BAR}); HTML {size[0] / 1e6:.2f} and {size[1] / 1e6:.2f} MB")
    return found <= RATIO_BAR


# Many chapters


def write_many(root: Path, count: int) -> None:
    """A site of chapters that are copies of one stage's page, each with a stage of its own."""
    copy_site(root)
    recording = next((root / "docs" / "recordings").iterdir())
    text = (root / "docs" / "stages" / f"{STAGE}.md").read_text(encoding="utf-8")
    for folder in ("chapters", "stages", "labs", "claims", "exercises", "reference"):
        shutil.rmtree(root / "docs" / folder)
    for page in (root / "docs").glob("*.md"):
        page.unlink()
    names = [f"many_{number:03}" for number in range(count)]
    entries = (f'\n[[stage]]\nname = "{n}"\ntitle = "{n}"\nagainst = "{n}"\nchapter = 1\n' for n in names)
    with (root / "snippets" / "ladder.toml").open("a", encoding="utf-8") as file:
        file.writelines(entries)
    for name in names:
        shutil.copyfile(root / "snippets" / f"{STAGE}.py", root / "snippets" / f"{name}.py")
        shutil.copytree(recording / STAGE, recording / name)
    stages = ladder.load(root / "snippets")
    (root / "docs" / "chapters").mkdir()
    for name in names:
        path = recording / name / "stage.json"
        was = ladder.digest(stages.stage(STAGE))
        path.write_text(path.read_text(encoding="utf-8").replace(was, ladder.digest(stages.stage(name))))
        page = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text.replace(STAGE, name))
        (root / "docs" / "chapters" / f"{name}.md").write_text(page, encoding="utf-8")
    (root / "docs" / "index.md").write_text("# Start\n\nText.\n", encoding="utf-8")
    pages = "\n".join(f"      - chapters/{name}.md" for name in names)
    config = (root / "mkdocs.yml").read_text(encoding="utf-8")
    before, _, after = config.partition("\nnav:\n")
    rest = after[after.index("exclude_docs:") :]
    config = f"{before}\nnav:\n  - Start: index.md\n  - Chapters:\n{pages}\n\n{rest}"
    (root / "mkdocs.yml").write_text(config, encoding="utf-8")


def many(sizes: list[int], repeat: int) -> bool:
    """Print the time of sites with so many chapters, and what each chapter beyond the size before took."""
    print("many: chapters   ours s   rendered s   ms a chapter more: ours   rendered")
    done: list[tuple[int, float, float]] = []
    slopes: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            ours, plain = Path(folder) / f"{size}", Path(folder) / f"{size}-rendered"
            write_many(ours, size)
            shutil.copytree(ours, plain)
            build_s(ours)
            render_sources(plain, ours / "site")
            without_extension(plain)
            ours_s, plain_s = alternate([ours, plain], repeat)
            added = ""
            if done:
                before, ours_before, plain_before = done[-1]
                more = [1000 * seconds / (size - before) for seconds in (ours_s - ours_before, plain_s - plain_before)]
                slopes.append(more[0])
                added = f"{more[0]:24.1f} {more[1]:10.1f}"
            done.append((size, ours_s, plain_s))
            print(f"{size:14} {ours_s:8.2f} {plain_s:12.2f} {added}", flush=True)
    return all(slope <= LINEAR_BAR * slopes[0] for slope in slopes)


# A saved chapter


def serve(repeat: int) -> bool:
    """Print how long a saved chapter takes to show."""
    with tempfile.TemporaryDirectory() as folder:
        root = copy_site(Path(folder) / "site")
        command = [sys.executable, "-m", "mkdocs", "serve", *SERVE_OPTIONS, "--dev-addr", "127.0.0.1:8375"]
        server = subprocess.Popen(command, cwd=root, env=environment(), stderr=subprocess.DEVNULL)
        try:
            _wait(lambda page: "</html>" in page)
            time.sleep(1)  # until it watches the files
            times = [_save(root / "docs" / f"{SAVED}.md", f"Saved {n}.") for n in range(repeat)]
        finally:
            server.terminate()
            server.wait()
    found = statistics.median(times)
    each = ", ".join(f"{seconds:.2f}" for seconds in times)
    print(f"serve: a saved chapter shows after {found:.2f} s, of {each} (bar {SERVE_BAR_S} s)")
    return found < SERVE_BAR_S


SERVE_OPTIONS = ("--livereload", "--dirty", "--no-strict")
"""As `nox -s serve` calls it."""


def _save(chapter: Path, line: str) -> float:
    chapter.write_text(f"{chapter.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    begin = time.perf_counter()
    _wait(lambda page: line in page)
    return time.perf_counter() - begin


def _wait(shown: Callable[[str], bool], limit_s: float = 120) -> None:
    end = time.perf_counter() + limit_s
    while time.perf_counter() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:8375/{SAVED}/", timeout=limit_s) as answer:
                if shown(answer.read().decode()):
                    return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.05)
    raise SystemExit("the server did not show the page")


def main() -> None:
    """Measure what is named; exit 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["ratio", "many", "serve", []], default=[])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 50, 100])
    asked = parser.parse_args()
    measures: dict[str, Callable[[], bool]] = {
        "ratio": lambda: ratio(asked.repeat),
        "many": lambda: many(asked.sizes, asked.repeat),
        "serve": lambda: serve(asked.repeat),
    }
    kept = [measures[name]() for name in asked.what or measures]
    if not all(kept):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
