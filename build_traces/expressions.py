"""Expressions over facts: `100 * {mlp_compiled.kernel.3.us} / {mlp_compiled.gpu_us}`.

Each fact stands in braces, the rest is Python's arithmetic, comparison and logic. For numbers in a page and for
the checks of claims. Nothing else of Python is there: no attribute, no index, no function but the four below.
"""

import ast
import difflib
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from simpleeval import DEFAULT_OPERATORS, EvalWithCompoundTypes, InvalidExpression

from build_traces.errors import FactError
from build_traces.facts import Fact, Facts
from build_traces.query import Scalar

PIECES = re.compile(r"""'[^'\n]*' | "[^"\n]*" | \{(?P<path>[^{}]*)\} | [^'"{}]+ | .""", re.VERBOSE | re.DOTALL)
"""A string, a fact, or what stands between them."""
LINE_END = re.compile(r"\s*\n\s*")
PLACE = "_fact_in_braces_"
BARE_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[\w:]+)+")
IN_BRACES = "each fact stands in braces, as in {mlp_eager.gpu_us} / 2"

Operator = Callable[..., Scalar]

FUNCTIONS: dict[str, Operator] = {"round": round, "min": min, "max": max, "abs": abs}
OPERATORS: tuple[type[ast.AST], ...] = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.UAdd, ast.USub),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.And, ast.Or, ast.Not),
)
NODES = (*OPERATORS, ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.Load)


class ExpressionError(FactError):
    """An expression that cannot be computed: it is wrong, or it does not fit the facts in it."""

    def __init__(self, written: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{message}, in {written!r}", hint=hint)


@dataclass(frozen=True)
class Value:
    """What an expression came to, and the facts it was computed from, in the order of their first use."""

    written: str
    value: Scalar | bool
    facts: tuple[Fact, ...]


def one_line(written: str) -> str:
    """An expression that its author broke over lines."""
    return LINE_END.sub(" ", written.strip())


def paths(written: str) -> tuple[str, ...]:
    """The paths of the facts in an expression, in the order of their first use. Raises ExpressionError."""
    return _Parsed(written).paths


def evaluate(written: str, facts: Facts, *, needs_fact: bool = False) -> Value:
    """Compute an expression. Raises ExpressionError, and FactError and RecordingError for a fact in it."""
    parsed = _Parsed(written)
    if needs_fact and not parsed.paths:
        raise ExpressionError(written, "there is no fact", hint=IN_BRACES)
    used = tuple(_fact(facts, path, written) for path in parsed.paths)  # all of them, also behind `and` and `or`
    names = {PLACE + str(n): fact.value for n, fact in enumerate(used)}
    return Value(parsed.written, _compute(parsed, names), used)


def check(written: str, facts: Facts) -> Value:
    """Compute an expression that is true or false of facts. Raises as `evaluate`."""
    result = evaluate(written, facts, needs_fact=True)
    if not isinstance(result.value, bool):
        hint = "compare it with something, as in {mlp_eager.kernel_count} == 5"
        raise ExpressionError(written, f"a check is true or false, this is {result.value!r}", hint=hint)
    return result


def _fact(facts: Facts, path: str, written: str) -> Fact:
    try:
        return facts.get(path)
    except FactError as error:
        raise ExpressionError(written, error.message, hint=error.hint) from error


class _Parsed:
    """An expression as Python's syntax tree, with a name in the place of each fact."""

    def __init__(self, written: str) -> None:
        self.written = one_line(written)
        found: dict[str, str] = {}
        python = "".join(self._piece(match, found) for match in PIECES.finditer(self.written))
        self.paths = tuple(found)
        self._places = frozenset(found.values())
        self.tree = self._tree(python)
        for node in ast.walk(self.tree):
            self._check(node)

    def _piece(self, match: re.Match[str], found: dict[str, str]) -> str:
        path = match["path"]
        if path is None:
            if match[0] in ("{", "}"):
                raise ExpressionError(self.written, f"a brace {match[0]} has no partner", hint=IN_BRACES)
            return match[0]
        if not path.strip():
            raise ExpressionError(self.written, "there is no path between the braces", hint=IN_BRACES)
        return f"({found.setdefault(path.strip(), PLACE + str(len(found)))})"

    def _tree(self, python: str) -> ast.Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # told by _check in our words
                return ast.parse(python, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ExpressionError(self.written, "this is no expression", hint=self._bare() or IN_BRACES) from error

    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS) or node.keywords:
                name = node.func.id if isinstance(node.func, ast.Name) and node.func.id not in self._places else ""
                message = f"there is no function {name!r}" if name else "this is no call of a function"
                self._refuse(message, f"the functions are {', '.join(FUNCTIONS)}, without keywords")
        elif isinstance(node, ast.Name):
            if node.id not in self._places and node.id not in FUNCTIONS:
                self._refuse(f"there is no name {node.id!r}", self._bare() or _near(node.id))
        elif isinstance(node, ast.Attribute):
            self._refuse("a path stands without braces", self._bare() or IN_BRACES)
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, int | float | str):
                self._refuse(f"{node.value!r} is no number, string or truth value", "write a number or a fact")
        elif not isinstance(node, NODES):
            allowed = "arithmetic, comparisons, and, or, not, in, if … else, (…, …), " + ", ".join(FUNCTIONS)
            self._refuse(f"{type(node).__name__} is not allowed here", f"there are {allowed}")

    def _refuse(self, message: str, hint: str) -> None:
        raise ExpressionError(self.written, message, hint=hint)

    def _bare(self) -> str:
        """`write {mlp_eager.gpu_us}`, of the first path that stands without braces; "" if there is none."""
        text = "".join(m[0] for m in PIECES.finditer(self.written) if m["path"] is None and m[0][0] not in "'\"")
        found = BARE_PATH.search(text)
        return f"write {{{found[0]}}}, in braces" if found else ""


def _near(name: str) -> str:
    near = difflib.get_close_matches(name, FUNCTIONS, n=1)
    return f"did you mean {near[0]}?" if near else f"{IN_BRACES}; text stands in quotes"


def _compute(parsed: _Parsed, names: dict[str, Scalar]) -> Scalar | bool:
    evaluator = EvalWithCompoundTypes(operators=_operators(), functions=dict(FUNCTIONS), names=names)
    written = parsed.written
    try:
        value = evaluator.eval(written, previously_parsed=parsed.tree.body)
    except ZeroDivisionError as error:
        raise ExpressionError(written, "it divides by zero", hint="ask whether the fact is zero first") from error
    except (TypeError, ValueError, OverflowError, RecursionError, InvalidExpression) as error:
        raise ExpressionError(written, f"it cannot be computed: {error}", hint=_types(names)) from error
    if not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ExpressionError(written, f"it comes to {value!r}, which is no number or text", hint=_types(names))
    return value


def _types(names: dict[str, Scalar]) -> str:
    kinds = {int: "a whole number", float: "a number", str: "text"}
    said = [f"{value!r} is {kinds[type(value)]}" for value in names.values()]
    return "; ".join(said) or "change the expression"


def _operators() -> dict[type[ast.AST], Operator]:
    """simpleeval's, with its limits on powers and lengths; no `%` on text, no comparing of text with numbers."""
    kept = {node: DEFAULT_OPERATORS[node] for node in OPERATORS if node not in (ast.And, ast.Or)}
    guarded = {node: _guarded(kept[node], guard) for node, guard in GUARDS.items()}
    return kept | guarded


def _guarded(operator: Operator, guard: Callable[[Scalar, Scalar], str]) -> Operator:
    def compute(a: Scalar, b: Scalar) -> Scalar:
        if refusal := guard(a, b):
            raise TypeError(refusal)
        return operator(a, b)

    return compute


def _of_two_kinds(a: Scalar, b: Scalar) -> str:
    return f"{a!r} and {b!r} are never equal" if isinstance(a, str) != isinstance(b, str) else ""


def _text(a: Scalar, b: Scalar) -> str:
    return "% takes two numbers" if isinstance(a, str) or isinstance(b, str) else ""


GUARDS: dict[type[ast.AST], Callable[[Scalar, Scalar], str]] = {
    ast.Eq: _of_two_kinds,
    ast.NotEq: _of_two_kinds,
    ast.Mod: _text,
}
