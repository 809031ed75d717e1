"""`/// compare`, and what pages carry so that a reader's own numbers can be shown on them."""

import json
import re
from xml.etree.ElementTree import Element

from html_tree import only, parse, text, with_class

from build_traces.kernel_names.tables import tables

SHOWN = "# Title\n\n/// compare\n///\n"


def compare(repository) -> Element:
    (made,) = parse(repository.page(SHOWN)).iter("guide-compare")
    return made


def test_it_lists_each_stage_with_its_trace_and_the_step_that_pictures_show(repository) -> None:
    rows = list(only(compare(repository), "compare-stages").find("tbody") or [])
    links = {row.get("data-stage"): next(row.iter("a")) for row in rows}
    assert list(links) == list(repository.facts().ladder.names)
    eager = links["mlp_eager"]
    assert (eager.get("href") or "").endswith("/mlp_eager/trace.json.gz")
    assert (eager.get("data-stage"), eager.get("data-step")) == ("mlp_eager", "3")
    facts = [data.get("data-fact") for row in rows for data in row.iter("data") if row.get("data-stage") == "mlp_eager"]
    assert facts == ["mlp_eager.kernel_count", "mlp_eager.time_us"]


def test_a_cold_stage_is_shown_by_its_first_step(repository) -> None:
    row = next(
        r for r in only(compare(repository), "compare-stages").iter("tr") if r.get("data-stage") == "linear_cold"
    )
    assert next(row.iter("a")).get("data-step") == "1"
    assert next(row.iter("data")).get("data-fact") == "linear_cold.step1.kernel_count"


def test_it_carries_the_tables_of_names_as_data_that_nothing_runs(repository) -> None:
    html = repository.page(SHOWN)
    (found,) = re.findall(r'<script type="application/json" class="compare-names">(.*?)</script>', html, re.DOTALL)
    assert "<" not in found
    assert json.loads(found) == json.loads(json.dumps(tables()))


def test_without_scripts_it_names_the_command_line(repository) -> None:
    (noscript,) = compare(repository).iter("noscript")
    assert "python -m build_traces diff A B" in text(noscript)


def test_patterns_are_in_the_dialect_of_the_site(repository) -> None:
    known = tables()
    patterns = [entry[1] for entry in known["patterns"]] + [known["inductor"][0], known["cutlass"][0], known["functor"]]  # type: ignore[index, attr-defined]
    assert len(patterns) == 8
    for pattern in patterns:
        assert "(?P" not in pattern and r"\w" not in pattern


def test_a_fact_carries_its_format_and_an_extreme_its_path(repository) -> None:
    (fact,) = parse(repository.convert("{{ mlp_eager.gpu_us:.1f }}")).iter("data")
    assert (fact.get("data-format"), text(fact)) == (".1f", "242.0")
    (bare,) = parse(repository.convert("{{ mlp_eager.gpu_us }}")).iter("data")
    assert bare.get("data-format") is None
    root = parse(repository.page("# T\n\n/// stagefacts | mlp_eager\n///\n"))
    spreads = [small.get("data-spread") for small in root.iter("small") if small.get("data-spread")]
    assert "mlp_eager.time_us" in spreads and "mlp_eager.cpu_us" in spreads


def test_a_kernel_list_of_one_step_says_which(repository) -> None:
    for header, step in (("kernels | mlp_eager\n    step: 2", "2"), ("kernels | mlp_eager", None)):
        (figure,) = with_class(parse(repository.page(f"# T\n\n/// {header}\n///\n")), "trace-block--kernels")
        assert figure.get("data-step") == step
