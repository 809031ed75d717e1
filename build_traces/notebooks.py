"""A lab on disk: a percent script, the notebook beside it, and whether what the notebook holds is still the script's.

A lab is `docs/labs/NAME.py`, which a person edits, and `docs/labs/NAME.ipynb`, which is written from it: the same
cells with the outputs that a GPU gave them and a stamp, or without outputs and with a note that says so. Telling the
state of a lab needs the standard library and msgspec; writing a notebook needs jupytext.
"""

import ast
import hashlib
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from build_traces.errors import BuildTracesError
from build_traces.freshness import State
from build_traces.half_made import write_whole
from build_traces.recording import short_commit

if TYPE_CHECKING:
    from nbformat import NotebookNode

PROTOCOL = 1
"""Counted up when the way a lab is run changes; every lab is stale then."""

LABS = Path("docs/labs")
RECORD_COMMAND = "python -m build_traces record --labs"
DRAFT_COMMAND = "python -m build_traces draft-labs"
METADATA_KEY = "build_traces"
OURS = "stamp"
"""The tag of the cells that are in the notebook and not in the script."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
TITLE = re.compile(r"# # (?P<title>.+)")
CELL = re.compile(r"^# %%.*$", re.MULTILINE)

DRAFT_NOTE = (
    '<aside class="draft" role="note" aria-label="Draft">'
    "This lab is a draft: not recorded yet. No GPU has run it, so none of its cells shows an output.</aside>"
)
STAMP = '<aside class="stamp" aria-label="Where the outputs come from">{}</aside>'


class LabError(BuildTracesError):
    """For the operator of a recording and the author of a lab: which lab, which cell, and why."""


@dataclass(frozen=True)
class Lab:
    """A percent script, and the notebook beside it."""

    script: Path

    @property
    def name(self) -> str:
        return self.script.stem

    @property
    def notebook(self) -> Path:
        return self.script.with_suffix(".ipynb")

    @property
    def title(self) -> str:
        """The heading of the script's first cell. Raises LabError if it has none."""
        match = TITLE.search(self.script.read_text(encoding="utf-8"))
        if match is None:
            raise LabError("the lab has no title", where=str(self.script), hint="begin its first cell with `# # Title`")
        return match["title"]

    def place(self, cell: int) -> str:
        """Where the nth cell is: `lab linear, cell 5 (docs/labs/linear.py:88)`."""
        text = self.script.read_text(encoding="utf-8")
        starts = [text.count("\n", 0, match.start()) + 1 for match in CELL.finditer(text)]
        line = f":{starts[cell - 1]}" if cell <= len(starts) else ""
        return f"lab {self.name}, cell {cell} ({self.script}{line})"


class LabRecord(msgspec.Struct, frozen=True):
    """What a notebook's metadata says of the run that its outputs are from."""

    protocol: int
    sha256: str
    command: str
    recorded: str
    commit: str
    gpu: str
    driver: str
    cuda: str
    torch: str
    triton: str
    python: str

    @property
    def stamp(self) -> str:
        """What every output of the lab carries."""
        return f"{self.gpu}, torch {self.torch}, {self.recorded}, from commit {short_commit(self.commit)}"


class _Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is ours in a notebook's metadata: hashes of the script and of the cells with their outputs, and the run."""

    script: str
    cells: str
    record: LabRecord | None = None


@dataclass(frozen=True)
class LabStatus:
    """The state of one lab, and why."""

    lab: Lab
    state: State
    why: str
    record: LabRecord | None = None

    def refuse_stale(self) -> None:
        """Raises LabError for a notebook that does not hold what its script says now."""
        if self.state is State.STALE:
            raise LabError(
                f"its notebook is stale: {self.why}",
                where=f"lab {self.lab.name}",
                hint=f"on a GPU machine: {RECORD_COMMAND}; without one, {DRAFT_COMMAND} writes it without outputs",
            )


# Which labs there are, and their state


def find(folder: Path = LABS) -> tuple[Lab, ...]:
    """The labs of a folder, by name."""
    return tuple(Lab(script) for script in sorted(folder.glob("*.py")))


def named(name: str, folder: Path = LABS) -> Lab:
    """The lab of this name. Raises LabError that lists the labs there are."""
    names = [lab.name for lab in find(folder)]
    if name not in names:
        hint = f"the labs are {', '.join(names)}" if names else "there are no labs"
        raise LabError(f"there is no lab {name!r}", where=str(folder), hint=hint)
    return Lab(folder / f"{name}.py")


def sources(lab: Lab) -> tuple[Path, ...]:
    """The script, and the modules of this package that it imports. Raises LabError for what is no Python."""
    try:
        tree = ast.parse(lab.script.read_bytes())
    except SyntaxError as error:
        raise LabError(f"not valid Python: {error.msg}", where=f"{lab.script}:{error.lineno}") from error
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    package = Path(__file__).parent
    modules = [name.split(".")[1:] for name in imported if name.startswith(f"{package.name}.")]
    files = {file for module in modules for file in _files_of(package.joinpath(*module))}
    return (lab.script, *sorted(files))


def _files_of(module: Path) -> list[Path]:
    """A module's file, or all files of a package; none for a name that is neither."""
    file = module.with_suffix(".py")
    return [file] if file.is_file() else list(module.glob("*.py"))


def digest(lab: Lab) -> str:
    """sha256 over what the outputs of a lab depend on: its script and the modules of ours that it imports."""
    return _sha256(*sources(lab))


def _sha256(*paths: Path) -> str:
    sha = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        sha.update(f"{path.name} {len(content)}\n".encode())
        sha.update(content)
    return sha.hexdigest()


def status(lab: Lab) -> LabStatus:
    """Whether the notebook holds the script's cells, and the outputs of what the script says now."""
    if not lab.notebook.is_file():
        return LabStatus(lab, State.MISSING, "not recorded yet")
    try:
        content = json.loads(lab.notebook.read_bytes())
        metadata = msgspec.convert(content["metadata"][METADATA_KEY], _Metadata)
        cells = _sha256_of_cells(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # msgspec's own errors are ValueErrors
        return LabStatus(lab, State.STALE, f"{lab.notebook} is damaged: {error!r}")
    record = metadata.record
    if cells != metadata.cells:
        return LabStatus(lab, State.STALE, f"{lab.notebook} was edited or run by hand", record)
    if why := _why_stale(lab, metadata):
        return LabStatus(lab, State.STALE, why, record)
    if record is None:
        return LabStatus(lab, State.MISSING, "not recorded yet")
    return LabStatus(lab, State.FRESH, f"recorded {record.recorded} on {record.gpu}", record)


def _why_stale(lab: Lab, metadata: _Metadata) -> str:
    """What the script and its modules no longer are, "" if nothing."""
    if metadata.record is None:
        same = metadata.script == _sha256(lab.script)
        return "" if same else f"not recorded yet, and {lab.script} has changed since it was written"
    if metadata.record.protocol != PROTOCOL:
        return f"recorded by protocol {metadata.record.protocol}, now {PROTOCOL}"
    if metadata.record.sha256 != digest(lab):
        return f"{lab.script} or a module that it imports has changed"
    return ""


def _sha256_of_cells(content: dict[str, Any]) -> str:
    """A hash of what the cells say and printed, which a run of the notebook by hand changes."""
    said = [(cell["cell_type"], cell["source"], cell.get("outputs", [])) for cell in content["cells"]]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


# The notebook of a script


def read_script(lab: Lab) -> "NotebookNode":
    """The script's cells as a notebook without outputs; the same one for the same script."""
    import jupytext  # noqa: PLC0415 - only who writes notebooks needs it

    made: NotebookNode = jupytext.reads(lab.script.read_text(encoding="utf-8"), fmt="py:percent")
    for number, cell in enumerate(made.cells, start=1):
        cell["id"] = f"cell-{number}"
    made["metadata"] = {"kernelspec": dict(KERNEL), "language_info": {"name": "python"}}
    made["nbformat_minor"] = 5
    return made


def write_run(lab: Lab, ran: "NotebookNode", record: LabRecord) -> None:
    """Keep a notebook whose cells a GPU ran, with its stamp as the last cell. Raises LabError."""
    ran.cells.append(_cell("stamp", STAMP.format(html.escape(f"This lab ran on {record.stamp}."))))
    _write(lab, ran, record)


def write_drafts(labs: tuple[Lab, ...]) -> tuple[Lab, ...]:
    """Write the notebooks that are stale or not there without outputs; returns their labs. Raises LabError."""
    written = []
    for lab in labs:
        found = status(lab)
        if found.state is State.STALE or not lab.notebook.is_file():
            made = read_script(lab)
            made.cells.insert(1, _cell("draft", DRAFT_NOTE))
            made.cells.append(_cell("stamp", STAMP.format("Not recorded yet.")))
            _write(lab, made, None)
            written.append(lab)
    return tuple(written)


def _cell(name: str, source: str) -> "NotebookNode":
    import nbformat  # noqa: PLC0415 - only who writes notebooks needs it

    return nbformat.NotebookNode(cell_type="markdown", id=name, metadata={"tags": [OURS]}, source=source)


def _write(lab: Lab, made: "NotebookNode", record: LabRecord | None) -> None:
    import nbformat  # noqa: PLC0415 - only who writes notebooks needs it

    cells = _sha256_of_cells(json.loads(nbformat.writes(made)))
    ours = msgspec.to_builtins(_Metadata(_sha256(lab.script), cells, record))
    made["metadata"] = {**made["metadata"], METADATA_KEY: ours}
    nbformat.validate(made)
    text: str = nbformat.writes(made)
    try:
        write_whole(lab.notebook, f"{text.rstrip()}\n".encode())
    except OSError as error:
        message = f"{lab.notebook} cannot be written: {error.strerror}"
        raise LabError(message, where=f"lab {lab.name}", hint="free disk space") from error
