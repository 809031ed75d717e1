"""The geometry of timelines: what is drawn stands where its time says, on one scale."""

from collections.abc import Callable
from itertools import pairwise
from xml.etree.ElementTree import Element

import pytest
from html_tree import only, parse, text, with_class

from build_traces.kernel_names import decode
from build_traces.markdown.lanes import Bar, Lanes, idle_share, lanes_of, pack
from build_traces.markdown.svg import (
    CHARACTER_WIDTH,
    FONT_SIZE,
    GAP_HEIGHT,
    LABEL_PADDING,
    LEFT,
    RIGHT,
    WIDTH,
    draw,
    label_that_fits,
    tick_step,
)


def bar(start: float, dur: float, row: int = 0, kind: str = "kernel", label: str = "k") -> Bar:
    return Bar(kind, label, label, row, start, dur)


def figure(repository, stages: str) -> Element:
    return only(parse(repository.page(f"/// timeline | {stages}\n///\n", "stages/x.md")), "trace-block")


def rects(root: Element, name: str) -> list[tuple[float, float]]:
    return [(float(r.get("x")), float(r.get("width"))) for r in with_class(root, name) if r.tag == "rect"]


KERNELS = ("tl-gemm", "tl-pointwise", "tl-kernel")
GPU = (*KERNELS, "tl-memset", "tl-memcpy")


def gpu_rects(root: Element, names: tuple[str, ...]) -> list[Element]:
    """The bars of these classes from left to right."""
    found = [r for name in names for r in with_class(root, name) if r.tag == "rect"]
    return sorted(found, key=lambda r: float(r.get("x")))


def test_a_bar_is_as_long_as_its_time_and_starts_where_it_starts(repository) -> None:
    made = figure(repository, "mlp_eager mlp_compiled")
    scale = float(made.find(".//svg").get("data-px-per-us"))
    for stage in ("mlp_eager", "mlp_compiled"):
        view = repository.facts().view(stage)
        step = view.trace.steps[view.shown_step - 1]
        (group,) = [g for g in made.iter("g") if g.get("data-stage") == stage]
        for kind, names in (("kernel", KERNELS), ("memset", ("tl-memset",))):
            expected = [
                (LEFT + (a.start_us - step.start_us) * scale, a.dur_us * scale)
                for a in view.trace.of_kind(kind, step.number)
            ]
            drawn = [(float(r.get("x")), float(r.get("width"))) for r in gpu_rects(group, names)]
            assert drawn == [pytest.approx(pair, abs=0.02) for pair in expected]
        launches = [
            (LEFT + (c.start_us - step.start_us) * scale, c.dur_us * scale) for c in view.trace.launches(step.number)
        ]
        assert rects(group, "tl-call") == [pytest.approx(pair, abs=0.02) for pair in launches]


def test_the_scale_is_the_longest_stage_over_the_width() -> None:
    short = Lanes("a", 40.0, (), (), (bar(10, 20),), ())
    long = Lanes("b", 100.0, (), (), (bar(150, 50),), ())  # ends at 200, behind its step
    svg = draw([short, long], "t", "title")
    # 760 - 100 - 16 = 644 px of plot for 200 µs: 3.22 px a µs, for both stages.
    assert (WIDTH, LEFT, RIGHT) == (760, 100, 16)
    assert float(svg.get("data-px-per-us")) == 3.22
    assert rects(svg, "tl-kernel") == [(132.2, 64.4), (583.0, 161.0)]


def test_ticks_stand_at_their_time_from_zero(repository) -> None:
    made = figure(repository, "mlp_eager")
    scale = float(made.find(".//svg").get("data-px-per-us"))
    labels = list(only(made, "tl-axis").iter("text"))
    values = {float(text(e).removesuffix(" µs")): float(e.get("x")) for e in labels}
    assert min(values) == 0.0
    for value, x in values.items():
        assert x == pytest.approx(LEFT + value * scale, abs=0.01)


@pytest.mark.parametrize(("end", "step"), [(100, 10), (101, 20), (240, 50), (999, 100), (1001, 200), (7, 1), (0, 1)])
def test_there_are_at_most_ten_ticks_at_round_times(end: float, step: float) -> None:
    assert tick_step(end) == step


def test_each_launch_is_linked_to_what_it_started(repository) -> None:
    made = figure(repository, "mlp_eager")
    links = with_class(made, "tl-link")
    calls = {r.get("x"): r for r in with_class(made, "tl-call") if r.tag == "rect"}
    started = {r.get("x"): r for name in ("tl-gemm", "tl-pointwise", "tl-memset") for r in with_class(made, name)}
    # Five kernels and two memsets, each by a launch of its own.
    assert len(links) == 7
    assert {link.get("x1") for link in links} == set(calls)
    assert {link.get("x2") for link in links} == set(started)
    for link in links:
        call, work = calls[link.get("x1")], started[link.get("x2")]
        assert int(link.get("y1")) == int(call.get("y")) + int(call.get("height"))
        assert link.get("y2") == work.get("y")


def test_a_graph_launch_is_linked_to_all_it_started(repository) -> None:
    links = with_class(figure(repository, "mlp_cudagraph"), "tl-link")
    # cudaLaunchKernel starts the copy, cudaGraphLaunch two memsets, three GEMMs and the Triton kernel.
    per_launch = sorted([link.get("x1") for link in links].count(x) for x in {link.get("x1") for link in links})
    assert per_launch == [1, 6]


def test_ops_stand_below_the_op_they_are_in(repository) -> None:
    lanes = lanes_of(repository.facts().view("mlp_eager"))
    rows = {b.name: b.row for b in lanes.cpu_bars}
    chain = ["step", "aten::linear", "aten::t", "aten::transpose", "aten::as_strided"]
    assert [rows[name] for name in chain] == [0, 1, 2, 3, 4]
    # The calls have the row behind the deepest op, the stream the one behind that.
    assert rows["cudaMemsetAsync"] == 5
    assert [(lane.name, lane.row, lane.rows) for lane in lanes.lanes] == [("CPU", 0, 6), ("GPU stream 7", 6, 1)]


def test_each_thread_and_stream_has_rows_of_its_own(repository, edit_trace: Callable) -> None:
    def move(events: list[dict]) -> None:
        step = next(e for e in events if e.get("name") == "ProfilerStep#5" and e["ph"] == "X")
        inside = {"ph": "X", "pid": 1, "tid": 99, "ts": step["ts"] + 1, "dur": 2}
        events.append({**inside, "cat": "cpu_op", "name": "other_thread", "args": {}})
        gelu = [e for e in events if e.get("cat") == "kernel" and "Gelu" in e["name"]][-1]
        gelu["args"]["stream"] = 9

    edit_trace("mlp_eager", move)
    lanes = lanes_of(repository.facts().view("mlp_eager"))
    names = [lane.name for lane in lanes.lanes]
    assert sorted(names) == ["CPU thread 1", "CPU thread 2", "GPU stream 7", "GPU stream 9"]
    taken = [row for lane in lanes.lanes for row in range(lane.row, lane.row + lane.rows)]
    assert taken == list(range(lanes.rows))
    (gelu,) = [b for b in lanes.gpu_bars if "Gelu" in b.name]
    assert [b.row for b in lanes.gpu_bars].count(gelu.row) == 1


def test_overlapping_intervals_get_rows_below_each_other() -> None:
    # 0–10 and 5–12 overlap; 10–20 begins where the first ends; 11–13 overlaps both rows.
    assert pack([(0, 10), (5, 12), (10, 20), (11, 13)]) == [0, 1, 0, 2]


def test_idle_share_counts_overlapping_work_once() -> None:
    # Busy 0–10, 5–12 (2 more), 20–24: 16 of 24.
    assert idle_share([bar(20, 4), bar(0, 10), bar(5, 7, row=1)]) == pytest.approx(1 - 16 / 24)
    assert idle_share([bar(3, 0)]) == 0.0


def test_a_label_is_cut_or_left_out_where_it_does_not_fit() -> None:
    def px(characters: int) -> float:
        return characters * CHARACTER_WIDTH + LABEL_PADDING

    assert label_that_fits("0123456789", px(10) + 0.1) == "0123456789"
    assert label_that_fits("0123456789", px(10) - 0.1) == "01234567…"  # nine characters fit
    assert label_that_fits("0123456789", px(8) + 0.1) == "0123456…"
    assert label_that_fits("0123456789", px(8) - 0.1) == ""
    assert label_that_fits("mm", px(2) + 0.1) == "mm"
    assert label_that_fits("mm", px(2) - 0.1) == ""
    assert label_that_fits("m", 0.0) == ""


def test_the_picture_says_in_words_what_it_shows(repository) -> None:
    made = figure(repository, "mlp_eager")
    svg = made.find(".//svg")
    title, says = svg.get("aria-labelledby").split()
    ids = {e.get("id"): e for e in made.iter() if e.get("id")}
    assert svg.get("role") == "img"
    assert text(ids[title]) == "Timeline of mlp_eager"
    lanes = lanes_of(repository.facts().view("mlp_eager"))
    idle = round(100 * idle_share(lanes.gpu_bars))
    assert only(made, "figure-says") is ids[says]
    assert text(ids[says]).startswith("mlp_eager: 5 kernels, 2 memsets in a step of ")
    assert text(ids[says]).endswith(f"is idle {idle} % of that time.")


def test_a_step_without_gpu_work_is_drawn(repository, edit_trace: Callable) -> None:
    def drop(events: list[dict]) -> None:
        events[:] = [e for e in events if e.get("cat") not in ("kernel", "gpu_memset")]

    edit_trace("mlp_eager", drop)
    assert "with no work on the GPU" in text(figure(repository, "mlp_eager"))


def test_the_text_is_large_enough_and_the_picture_is_not_scaled_down(repository) -> None:
    svg = figure(repository, "mlp_eager").find(".//svg")
    assert FONT_SIZE >= 11
    assert svg.get("font-size") == str(FONT_SIZE)
    assert svg.get("viewbox") == f"0 0 {svg.get('width')} {svg.get('height')}"
    assert svg.get("style") == f"min-width: {WIDTH}px"


def test_everything_drawn_is_inside_the_picture(repository) -> None:
    svg = figure(repository, "mlp_eager mlp_cudagraph").find(".//svg")
    width, height = float(svg.get("width")), float(svg.get("height"))
    for rect in svg.iter("rect"):
        assert float(rect.get("x")) >= LEFT
        assert float(rect.get("x")) + float(rect.get("width")) <= width - RIGHT + 0.02
        assert 0 <= float(rect.get("y")) <= height - float(rect.get("height"))


def test_colors_are_classes(repository) -> None:
    made = figure(repository, "mlp_eager")
    kinds = {r.get("class") for r in made.iter("rect")}
    assert kinds == {"tl-op", "tl-annotation", "tl-call", "tl-gemm", "tl-pointwise", "tl-over", "tl-memset"}
    assert not [e for e in made.iter() if e.get("class") != "tl-over" and {"fill", "stroke"} & set(e.keys())]


def test_gemms_pointwise_kernels_and_idle_time_are_told_apart_without_color(repository) -> None:
    """By lines over the pointwise ones, by a dotted line where the GPU idles, and by words in the key."""
    made = figure(repository, "mlp_eager")
    # gate GEMM, GELU, up GEMM, mul, down GEMM
    assert (len(rects(made, "tl-gemm")), len(rects(made, "tl-pointwise"))) == (3, 2)
    assert rects(made, "tl-over") == rects(made, "tl-pointwise")
    (pattern,) = made.iter("pattern")
    assert {r.get("fill") for r in with_class(made, "tl-over")} == {f"url(#{pattern.get('id')})"}
    work = [(float(r.get("x")), float(r.get("width"))) for r in gpu_rects(made, GPU)]
    ends = [(x + width, after) for (x, width), (after, _) in pairwise(work)]
    gaps = [(float(e.get("x1")), float(e.get("x2"))) for e in with_class(made, "tl-idle")]
    assert gaps == [pytest.approx(gap, abs=0.03) for gap in ends if gap[1] - gap[0] > 0.03]
    key = {text(e) for e in made.iter("span") if (e.get("class") or "").startswith("tl-key")}
    assert key == {"ops", "annotations", "calls", "GEMMs", "pointwise kernels", "memsets", "the GPU idles"}


def test_a_bar_names_itself_whole(repository) -> None:
    view = repository.facts().view("mlp_eager")
    names = [r.find("title").text.split("\n")[0] for r in gpu_rects(figure(repository, "mlp_eager"), KERNELS)]
    step = view.trace.steps[view.shown_step - 1].number
    assert names == [k.name for k in view.trace.kernels(step)]
    labels = {text(e) for e in with_class(figure(repository, "mlp_eager"), "tl-label")}
    whole = {decode(n).short for n in names} | {b.name for b in lanes_of(view).cpu_bars} | {"memset"}
    assert labels
    assert all(any(name.startswith(label.rstrip("…")) for name in whole) for label in labels)


def test_each_stage_has_a_download_and_a_way_into_perfetto(repository) -> None:
    made = figure(repository, "mlp_eager mlp_compiled")
    links = [(a.get("href"), a.get("class"), a.get("data-title"), a.get("download")) for a in made.iter("a")]
    for stage in ("mlp_eager", "mlp_compiled"):
        href = f"../recordings/nvidia-h200_torch-2.11.0/{stage}/trace.json.gz"
        assert links[:2] == [(href, None, None, f"{stage}.trace.json.gz"), (href, "perfetto", stage, None)]
        links = links[2:]


def test_two_timelines_on_a_page_have_ids_of_their_own(repository) -> None:
    block = "/// timeline | mlp_eager\n///\n\n"
    ids = [e.get("id") for e in parse(repository.page(block * 2)).iter() if e.get("id")]
    assert len(ids) == len(set(ids)) == 6  # title, words and hatching of each


def test_streams_of_several_gpus_say_which(repository, edit_trace: Callable) -> None:
    def move(events: list[dict]) -> None:
        next(e for e in reversed(events) if e.get("cat") == "kernel" and "Gelu" in e["name"])["args"]["device"] = 1

    edit_trace("mlp_eager", move)
    names = [lane.name for lane in lanes_of(repository.facts().view("mlp_eager")).lanes]
    assert names == ["CPU", "GPU 0 stream 7", "GPU 1 stream 7"]


def test_an_annotation_around_all_steps_takes_no_row(repository, edit_trace: Callable) -> None:
    def wrap(events: list[dict]) -> None:
        label = next(e for e in events if e.get("name") == "step" and e.get("cat") == "user_annotation")
        around = {"ts": label["ts"] - 1000, "dur": 1e6, "pid": label["pid"], "tid": label["tid"]}
        events.append({"ph": "X", "cat": "user_annotation", "name": "training", "args": {}, **around})

    edit_trace("mlp_eager", wrap)
    rows = {b.name: b.row for b in lanes_of(repository.facts().view("mlp_eager")).cpu_bars}
    assert (rows["step"], rows["aten::linear"]) == (0, 1)
    assert "training" not in rows


def test_a_step_that_outlasts_its_work_sets_the_scale() -> None:
    svg = draw([Lanes("a", 322.0, (), (), (bar(0, 10),), ())], "t", "title")
    # 644 px for 322 µs.
    assert rects(svg, "tl-kernel") == [(100.0, 20.0)]


def test_there_is_room_for_the_links_between_cpu_and_gpu(repository) -> None:
    for link in with_class(figure(repository, "mlp_eager mlp_compiled"), "tl-link"):
        assert float(link.get("y2")) - float(link.get("y1")) >= GAP_HEIGHT
