"""What a measurement looks like in a text: a number, in digits or in words, of a kind that a recording gives.

It is a measurement if a unit of time, bytes or rate stands behind it, if it is a share or a ratio, or if it counts
what a step runs: KINDS, a small pattern each, made of the same pieces. A table's column may have its unit in the head.

"One kernel" is a count, "a kernel" is not. A number of GEMMs, Linears or steps is not: that is what the code says.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from build_traces.prose import FACT

# Pieces. A line may break inside a measurement, a paragraph may not.


def any_of(words: Iterable[str]) -> str:
    """A pattern for one of these, the longest first."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


UNITS = "zero one two three four five six seven eight nine ten eleven twelve"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: dict[str, float] = dict(zip(f"{UNITS} {TEENS}".split(), range(20), strict=True))
NUMBER_WORDS |= zip(TENS.split(), range(20, 100, 10), strict=True)
LARGE = {"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}
FRACTIONS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "sixth": 1 / 6, "eighth": 1 / 8}
FRACTIONS |= {"tenth": 1 / 10, "hundredth": 1 / 100, "thousandth": 1 / 1000}
RATIOS = {"twice": 2, "thrice": 3, "double": 2, "triple": 3, "quadruple": 4}

SPACE = r"[^\S\n]*\n?[^\S\n]*"
BETWEEN = r"(?:[^\S\n]+\n?|\n)[^\S\n]*"
GAP = rf"(?:[-\u2011]|{SPACE})"
DIGITS = r"(?:(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?[⁰¹²³⁴-⁹⁻]*[¼-¾]?|[¼-¾])"
WORD = (
    rf"(?i:\b{any_of(NUMBER_WORDS)}(?:(?:-|{BETWEEN}){any_of(NUMBER_WORDS)})?(?:(?:-|{BETWEEN}){any_of(LARGE)})?\b"
    rf"(?:{BETWEEN}and{BETWEEN}a{BETWEEN}half\b)?)"
)
AMOUNT = (
    rf"(?i:\ban?{BETWEEN}{any_of(LARGE)}\b|\b(?:tens|{any_of(LARGE)}s){SPACE}of(?={SPACE}\w)"
    rf"|\ban?{BETWEEN}(?:couple|pair){SPACE}of)"
)
NUMBER = f"(?:{AMOUNT}|{WORD}|{DIGITS})"
NUMBERS = rf"{NUMBER}(?:{SPACE}(?:-|–|to|and|or|of){SPACE}(?:(?:about|the){BETWEEN})?(?:{NUMBER}|{FACT}))*"
"""`5–7`, `two or three`, `57.7 and {{ … }}`."""
NO_LETTER = r"(?!\w)"


def quantity(*units: str) -> str:
    """A number and a unit behind it."""
    return f"{NUMBERS}{GAP}{any_of(units)}{NO_LETTER}"


# Units

PREFIX = "[kKMGTP]?i?"
PER_SECOND = rf"{SPACE}(?:/|per{SPACE}|a{SPACE})(?:s|sec|second)"
TIME_WORD = "(?:nano|micro|milli)seconds?"
TIME = ("ns", "[µμu]s", "ms", r"(?<!19\d\d)(?<!20\d\d)s", "min", "h", f"(?i:{TIME_WORD}|seconds?|minutes?|hours?)")
BYTES = (f"{PREFIX}B", "(?i:(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi)?bytes?)")
RATE = (f"(?:{PREFIX}(?:B|FLOPs?|OPs?)|(?i:bytes?)){PER_SECOND}", "[kKMGTP]FLOP[sS]?", "[kMG]?Hz", "(?i:cycles)")
SHARE = ("%", "(?i:per ?cent|percentage points?)")

# Shares and ratios in words

PART = rf"(?:an?|{NUMBER}){GAP}(?!half\b){any_of(FRACTIONS)}"
COMPARED = r"(?:as|more|less|faster|slower|longer|shorter|larger|smaller|higher|lower)\b"
PART_OF = rf"(?<!\bon )(?<!\band ){PART}(?={SPACE}(?:of\b|{COMPARED}|[.,;:)?]|$))"
PARTS = rf"{NUMBERS}{GAP}{any_of(FRACTIONS)}s\b"
HALF = (
    rf"half{BETWEEN}(?:of|the|as|an?|that|its|again)\b|(?:by|in|a|one){BETWEEN}half\b(?!{BETWEEN}precision)"
    r"|halv(?:ed|ing)\b"
)
HALVES = rf"halves{BETWEEN}(?:the|its|that|this|it)\b"
TIMES = rf"{NUMBERS}{GAP}times{SPACE}(?:{COMPARED}|(?:the|that|its)\b)"
CROSS = rf"{NUMBERS}(?:[x×](?![\w×])(?!{SPACE}[\d{FACT}])|{SPACE}×(?={SPACE}(?:{COMPARED}|the\b)))"
TWICE = rf"(?:twice|thrice){BETWEEN}(?:as|the|its|that|what)\b"
DOUBLE = rf"(?:double|triple|quadruple)(?:[sd]\b|{BETWEEN}(?:the|that|its)\b)"
FOLD = rf"(?:{any_of(NUMBER_WORDS)}|{any_of(LARGE)}|{DIGITS})-?fold\b"
FACTOR = rf"factor{BETWEEN}of{BETWEEN}(?:about{BETWEEN})?{NUMBERS}"
MAGNITUDE = rf"orders?{BETWEEN}of{BETWEEN}magnitude\b"

# Counts of what a step runs

NOUNS = {
    "kernel": "kernels",
    "launch": "launches",
    "memset": "memsets",
    "memcpy": "memcpys",
    "op": "ops",
    "query": "queries",
}
PLURALS = (*NOUNS.values(), "memcpies", "calls", "processes", "samples", "draws", "profiled steps")
SMALL_WORDS = "a an and are as at by for from has have in is it its of on or per than that the to was which with"
ADJECTIVES = rf"(?:(?!{any_of(SMALL_WORDS.split())}\b)[A-Za-z][\w’'-]*{BETWEEN}){{0,2}}"
INDEXED = re.compile(
    r"\b(?:steps?|kernels?|stages?|rungs?|chapters?|sections?|rows?|columns?|lines?|part|batch|size|version|stream|"
    r"torch|PyTorch|triton|CUDA|Python)\s+$",
    re.IGNORECASE,
)
VERBS = ("launches", "processes", "calls", "queries")
"""In `step 2 launches nothing` the number is a name and the noun a verb."""
MANY = rf"(?!(?:one|1){BETWEEN}{any_of(PLURALS)}){NUMBERS}(?:-|{BETWEEN}){ADJECTIVES}{any_of(PLURALS)}\b"
NO_COUNT = rf"[-’']|{BETWEEN}(?:names?|lists?|packages?|at a time|after)\b"
ONE = rf"(?<!\bthat )(?<!\bthis )(?<!\bwhat )\b(?:one|1|single){BETWEEN}{ADJECTIVES}{any_of(NOUNS)}\b(?!{NO_COUNT})"
COMPOUND = rf"(?:{WORD}|{DIGITS})-{any_of(NOUNS)}\b"
COUNT_OF = rf"\b{any_of(NOUNS)}{BETWEEN}count{BETWEEN}(?:of|is|was){BETWEEN}{NUMBER}"


def _worded(*patterns: str) -> str:
    return rf"(?i:\b(?:{'|'.join(patterns)}))"


@dataclass(frozen=True)
class Kind:
    """A kind of measurement: how it is written, which head a column of it has, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    head: re.Pattern[str]
    instead: str


def _kind(name: str, patterns: tuple[str, ...], *, head: str, instead: str) -> Kind:
    return Kind(name, re.compile("|".join(patterns), re.MULTILINE), re.compile(head), instead)


KINDS = (
    _kind(
        "rate",
        (quantity(*RATE),),
        head=r"\b[kMGTP]?(?:B|FLOP|OP)s?/s\b",
        instead="{{ mlp_eager.tflops:.0f }} TFLOP/s",
    ),
    _kind(
        "time",
        (quantity(*TIME), _worded(rf"(?:an?|sub){GAP}{TIME_WORD}\b")),
        head=rf"(?<!\w)(?:ns|[µμu]s|ms|s)(?!\w)|{_worded('times?$', TIME_WORD)}",
        instead="{{ mlp_eager.gpu_us:.0f }} µs",
    ),
    _kind(
        "number of bytes",
        (quantity(*BYTES),),
        head=rf"(?<!\w)[kKMGT]?i?B(?!\w)|{_worded('bytes')}",
        instead="{{ mlp_eager.hbm_mb:.0f }} MB, or {{ 2 * 8192 * 3072 / 1e6 :.0f }} MB",
    ),
    _kind(
        "share",
        (quantity(*SHARE), _worded(PART_OF, PARTS, HALF, HALVES)),
        head=rf"%|{_worded('share', 'percent')}",
        instead="{{ mlp_eager.kernel.2.share:.0f }} %",
    ),
    _kind(
        "ratio",
        (CROSS, _worded(TIMES, TWICE, DOUBLE, FOLD, FACTOR, MAGNITUDE)),
        head=rf"×$|{_worded('speed-?up', 'faster')}",
        instead="{{ mlp_compiled.speedup:.2f }}×",
    ),
    _kind(
        "count",
        (f"(?i:{MANY}|{ONE}|{COMPOUND}|{COUNT_OF})",),
        head=_worded(rf"{any_of(PLURALS)}\b"),
        instead="{{ mlp_eager.kernel_count }} kernels",
    ),
)


# Finding


@dataclass(frozen=True)
class Found:
    """A typed measurement: where in the text as it is read, and what it says."""

    start: int
    end: int
    kind: Kind
    text: str


def find(read: str) -> list[Found]:
    """The typed measurements in a text as it is read (`prose`), in its order; where two overlap, the first kind's."""
    found: list[Found] = []
    for kind, (start, end) in [*_in_sentences(read), *_in_columns(read)]:
        if all(end <= other.start or other.end <= start for other in found):
            text = " ".join(read[start:end].replace(FACT, "{{ … }}").split())
            found.append(Found(start, end, kind, text))
    return sorted(found, key=lambda each: each.start)


def _in_sentences(read: str) -> Iterator[tuple[Kind, tuple[int, int]]]:
    for kind in KINDS:
        for match in kind.pattern.finditer(read):
            if not (match[0].endswith(VERBS) and INDEXED.search(read, 0, match.start())):
                yield kind, match.span()


RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
CELL = re.compile(r"[^|\n]+")
NUMBER_ALONE = re.compile(rf"[ \t]*[≈~<>±]?[ \t]*(?P<number>{NUMBERS})[ \t]*")


def _in_columns(read: str) -> Iterator[tuple[Kind, tuple[int, int]]]:
    """Cells that hold a number and nothing else, in tables' columns whose head says what it is."""
    kinds: list[Kind | None] = []
    above, start = "", 0
    for line in read.split("\n"):
        if "|" in above and RULE.fullmatch(line):
            kinds = [_kind_of_column(cell[0].strip()) for cell in CELL.finditer(above.strip(" \t>|"))]
        elif "|" not in line:
            kinds = []
        else:
            first = start + len(line) - len(line.lstrip(" \t>|"))
            for kind, cell in zip(kinds, CELL.finditer(read, first, start + len(line)), strict=False):
                alone = NUMBER_ALONE.fullmatch(read, *cell.span())
                if kind and alone:
                    yield kind, alone.span("number")
        above, start = line, start + len(line) + 1


def _kind_of_column(head: str) -> Kind | None:
    return next((kind for kind in KINDS if kind.head.search(head)), None)


# What they come to

VALUES: dict[str, float] = {**NUMBER_WORDS, **FRACTIONS, **RATIOS, **LARGE, "single": 1, "halve": 1 / 2}


def values(text: str) -> list[float]:
    """The numbers in a typed measurement: `two thirds` is one of 0.667, `threefold` one of 3."""
    values: list[float] = []
    joins = False
    for token in re.findall(r"\d[\d,]*(?:\.\d+)?|[a-z]+", text.lower()):
        word = token.removesuffix("fold")
        value = VALUES.get(word, VALUES.get(word[:-1])) if word.isalpha() else float(word.replace(",", ""))
        if value is None:
            joins = False
        elif joins and (word in LARGE or word.rstrip("s") in FRACTIONS):
            values[-1] *= value
        elif joins and values[-1] >= 20 and value < 10:
            values[-1] += value
        else:
            values.append(value)
            joins = True
    return values
