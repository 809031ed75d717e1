"""Sums in a page: a Python fence that runs on the facts of the recording that the page shows.

    pymdownx.superfences:
      custom_fences:
        - name: python
          class: python
          validator: !!python/name:markdown_exec.validator
          format: !!python/name:build_traces.markdown.sums.formatter

A page asks for facts by `from build_traces.markdown.sums import fact`. markdown-exec tells these fences from
others and renders them; they run here, because one that fails must end the build, and there it only warns.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Any

import markdown_exec
from markdown import Markdown
from markupsafe import Markup

from build_traces.errors import BuildTracesError, FactError, NotRecordedError, PageError
from build_traces.facts import Facts
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.page import FencedPageError
from build_traces.query import Scalar

HEADER = '```python exec="on" source="above" result="text"'
"""How every sum begins; a title may follow."""
FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*\bexec\s*=")
CODE = "<sum>"
"""What Python calls the code of a sum in a traceback."""
RESULT = 'text title="It prints"'
"""The language of the result, and the label above it."""

_shown: ContextVar[Facts | None] = ContextVar("facts of the sum that runs", default=None)


def fact(path: str) -> Scalar:
    """The value at this path in the recording that the page shows. For sums in pages. Raises FactError."""
    facts = _shown.get()
    if facts is None:
        raise FactError(
            f"fact({path!r}) has no recording here: there is one only while a sum in a page runs",
            hint="elsewhere, open the recording and ask build_traces.facts.Facts.get",
        )
    return facts.get(path).value


@contextmanager
def showing(facts: Facts) -> Iterator[None]:
    """Inside, `fact` answers from these."""
    token = _shown.set(facts)
    try:
        yield
    finally:
        _shown.reset(token)


def run(code: str, facts: Facts) -> str:
    """What a sum prints, whoever calls `print` in it. Raises what the sum raises."""
    printed = io.StringIO()
    with showing(facts), redirect_stdout(printed):
        exec(compile(code, CODE, "exec"), {"__name__": CODE})
    return printed.getvalue()


def formatter(source: str, language: str, _class: str, options: dict[str, Any], md: Markdown, **_: object) -> Markup:
    """Called by superfences: the code, and under it what it prints. Raises PageError."""
    conversion = _conversion(md)
    begin = _begin(source, conversion.page.lines)
    with conversion.at(begin):
        _check_options(options)

        def print_result(code: str, **_: object) -> str:
            return _printed(code, conversion, begin)

        rendered = markdown_exec.base_format(
            language=language, run=print_result, code=source, md=md, **options | {"result": RESULT}
        )
    return Markup('<div class="sum">{}</div>').format(rendered)


def _conversion(md: Markdown) -> Conversion:
    try:
        return md.preprocessors["build_traces_preflight"].conversion  # type: ignore[no-any-return, attr-defined]  # ours, put there by name
    except KeyError as error:
        hint = "add build_traces.markdown to markdown_extensions"
        raise FencedPageError("<Markdown>", 1, "a sum has no recording here", hint=hint) from error


def _check_options(options: Mapping[str, Any]) -> None:
    """All sums look alike, and none sees what another one left."""
    if (options["source"], options["result"]) != ("above", "text") or options["session"] or options["html"]:
        raise FactError("a sum shows its code above what it prints, and has no session", hint=f"write {HEADER}")


def _begin(source: str, lines: Sequence[str]) -> int:
    """Which line of the page is the header of the fence with this code; 0 if it came from an included file."""
    code = _bare(source.splitlines())
    headers = (index for index, line in enumerate(lines) if FENCE.match(line))
    return next((index for index in headers if _bare(lines[index + 1 : index + 1 + len(code)]) == code), 0)


def _bare(lines: Sequence[str]) -> list[str]:
    """Lines without the indentation and the marks of a list or a quote around them."""
    return [line.lstrip(" \t>").rstrip() for line in lines]


def _printed(code: str, conversion: Conversion, begin: int) -> str:
    try:
        printed = run(code, conversion.facts)
    except NotRecordedError as error:
        return conversion.not_recorded(error, "p").text or ""
    except (Exception, SystemExit) as error:
        raise _refusal(error, conversion, begin) from error
    if not printed.strip():
        raise FactError("this sum prints nothing", hint="print its result")
    return printed


def _refusal(error: BaseException, conversion: Conversion, begin: int) -> PageError:
    index = begin + _line(error)
    if isinstance(error, BuildTracesError):
        return conversion.page.refusal(index, f"this sum fails: {error.message}", error.hint)
    return conversion.page.refusal(
        index, f"this sum fails: {type(error).__name__}: {error}", "run it by hand with the value of each fact"
    )


def _line(error: BaseException) -> int:
    """The line of the sum, from 1, on which it failed."""
    if isinstance(error, SyntaxError) and error.filename == CODE:
        return error.lineno or 1
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CODE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
