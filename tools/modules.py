"""Print every module of the project with its lines and the sentence it begins with: `python tools/modules.py`."""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("build_traces", "snippets", "benchmarks", "tools", "tests")


def sentence(path: Path) -> str:
    """The first sentence of a module's docstring, "" without one."""
    docstring = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def main() -> None:
    """A line a module, in the order of their paths."""
    command = ["git", "-C", str(ROOT), "ls-files", *(f"{folder}/*.py" for folder in FOLDERS), "noxfile.py"]
    for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        path = ROOT / name
        print(f"{len(path.read_text(encoding='utf-8').splitlines()):5} {name}: {sentence(path)}")


if __name__ == "__main__":
    main()
