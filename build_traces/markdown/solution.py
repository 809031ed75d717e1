"""What an exercise hides until the reader has committed: the answer, why, and the part of the trace that shows it."""

import base64
import json
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from build_traces.answers import Answer
from build_traces.exercises import Exercise
from build_traces.expressions import Value, one_line
from build_traces.facts import Fact
from build_traces.markdown.conversion import Conversion
from build_traces.markdown.html import append, element, wrapping
from build_traces.markdown.inline import expression_element
from build_traces.markdown.passage import paragraphs, passage, plain
from build_traces.markdown.value import fact_element, shown

RIGHT, WRONG = ("Right", "verdict verdict--holds"), ("Not right", "verdict verdict--fails")


def key(exercise: Exercise, answer: Answer, conversion: Conversion) -> str:
    """What a script judges a guess by, in Base64, so that no search in the page finds it."""
    texts = [plain(passage("span", part.text, conversion, conversion.facts)) for part in exercise.parts]
    judged: dict[str, object] = {"measured": _in_words(exercise, answer, texts)}
    if answer.value is not None:
        judged |= {"answer": answer.value.value, "decides": [one_line(exercise.answer)]}
    else:
        judged |= {"right": answer.right, "parts": texts, "decides": [value.written for value in answer.parts]}
    return base64.b64encode(json.dumps(judged, ensure_ascii=False).encode()).decode()


def _in_words(exercise: Exercise, answer: Answer, texts: Sequence[str]) -> str:
    """The answer as text: `5`, `36.9 µs`, or the right options or the items in their order."""
    if answer.value is not None:
        return f"{shown(_scalar(answer.value))} {exercise.unit}".rstrip()
    right = [texts[position] for position in answer.right]
    return " → ".join(right) if exercise.kind == "order" else ", ".join(f"“{text}”" for text in right)


def _scalar(value: Value) -> int | float | str:
    return int(value.value) if isinstance(value.value, bool) else value.value


def solution(exercise: Exercise, answer: Answer, conversion: Conversion, block: Element | None) -> Element:
    """Everything that is said of the answer. Raises BuildTracesError for what is wrong in a text."""
    made = element("div", class_="predict-solution")
    for part in SHOWN[exercise.kind](exercise, answer, conversion):
        append(made, part)
    append(made, element("p", element("small", _stamps(answer)), class_="predict-stamp"))
    explanation = paragraphs(exercise.explain, conversion, conversion.facts)
    append(made, element("div", *explanation, class_="predict-explain"))
    if exercise.a100:
        append(made, passage("p", exercise.a100, conversion, conversion.facts, class_="predict-a100"))
    if block is not None:
        append(made, block)
    return made


def _values(answer: Answer) -> tuple[Value, ...]:
    return answer.parts if answer.value is None else (answer.value,)


def _facts(answer: Answer) -> tuple[Fact, ...]:
    """All facts that the answer stands on, each once."""
    return tuple({fact.path: fact for value in _values(answer) for fact in value.facts}.values())


def _stamps(answer: Answer) -> str:
    return "; ".join(dict.fromkeys(fact.stamp for fact in _facts(answer)))


def _value(value: Value, conversion: Conversion) -> Element:
    """A computed value; of one fact alone with its spread."""
    if len(value.facts) == 1 and one_line(value.written) == f"{{{value.facts[0].path}}}":
        return conversion.value(value.facts[0])
    return expression_element(value)


def _number(exercise: Exercise, answer: Answer, conversion: Conversion) -> list[Element]:
    (value,) = _values(answer)
    unit = f" {exercise.unit}" if exercise.unit else ""
    return [element("p", "Measured: ", _value(value, conversion), f"{unit}.", class_="predict-measured")]


def _options(exercise: Exercise, answer: Answer, conversion: Conversion) -> list[Element]:
    """Each option with its verdict and why, and what was measured."""
    made = element("ul", class_="predict-reasons")
    for position, option in enumerate(exercise.option):
        word, style = RIGHT if position in answer.right else WRONG
        entry = element(
            "li",
            element("strong", word, class_=style),
            " ",
            passage("span", option.text, conversion, conversion.facts, class_="predict-option"),
            passage("p", option.why, conversion, conversion.facts),
            data_position=str(position),
        )
        append(made, entry)
    return [made, *_measured(_facts(answer))]


def _measured(facts: Sequence[Fact]) -> list[Element]:
    """`mlp_eager.kernel_count  5`, of each fact that decided."""
    made = element("dl", class_="predict-facts")
    for fact in facts:
        append(made, element("dt", wrapping(fact.path)))
        append(made, element("dd", fact_element(fact), f" {fact.unit}" if fact.unit else ""))
    return [element("p", "Measured:", class_="predict-measured"), made]


def _items(exercise: Exercise, answer: Answer, conversion: Conversion) -> list[Element]:
    """The items in their right order, each with what decides its place."""
    made = element("ol", class_="predict-order")
    for position in answer.right:
        text = passage("span", exercise.item[position].text, conversion, conversion.facts)
        at = element("small", "(", _value(answer.parts[position], conversion), f" {exercise.unit}".rstrip(), ")")
        append(made, element("li", text, " ", at, data_position=str(position)))
    return [element("p", "Measured:", class_="predict-measured"), made]


SHOWN = {"count": _number, "number": _number, "choice": _options, "order": _items}
