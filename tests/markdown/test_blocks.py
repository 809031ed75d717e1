"""What each block renders, on the small repository of conftest.py."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

import msgspec
import pytest
from html_tree import cells, only, parse, text, with_class

from build_traces.errors import PageError
from build_traces.facts import KERNEL_FIELDS, RECORDING_FACTS, STAGE_FACTS
from build_traces.kernel_names import FAMILIES, decode
from build_traces.markdown import BLOCKS
from build_traces.markdown.kernels import in_ranges
from build_traces.markdown.value import extremes
from build_traces.recording import KernelBytes, Spread

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"
DOWN = "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"


def figure(repository, header: str, name: str = "page.md") -> Element:
    (found,) = with_class(parse(repository.page(f"Text.\n\n/// {header}\n///\n", name)), "trace-block")
    return found


@pytest.mark.parametrize("name", [n for n, b in BLOCKS.items() if b.ARGUMENT is not False and b.OF_STAGES])
def test_every_block_is_a_figure_that_names_itself(repository, name: str) -> None:
    option = "\n    facts: error" if name == "measures" else ""
    made = figure(repository, f"{name} | mlp_eager{option}")
    assert made.tag == "figure"
    assert made.get("class") == f"trace-block trace-block--{name}"
    assert made.get("data-stage") == (None if name in ("ladder", "measures") else "mlp_eager")


@pytest.mark.parametrize("header", ["kernels | mlp_eager", "ladder", "facts", "kernel-names"])
def test_every_table_scrolls_by_itself(repository, header: str) -> None:
    made = figure(repository, header)
    parents = {child: parent for parent in made.iter() for child in parent}
    for table in made.iter("table"):
        region = parents[table]
        assert (region.get("class"), region.get("tabindex"), region.get("role")) == ("trace-scroll", "0", "region")
        assert region.get("aria-label")


def add_call(name: str) -> Callable[[list[dict]], None]:
    """A call on a thread of its own, in the last step, that starts nothing."""

    def add(events: list[dict]) -> None:
        step = next(e for e in events if e.get("name") == "ProfilerStep#5" and e["ph"] == "X")
        events.append(
            {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 99, "ts": step["ts"] + 1, "dur": 2,
             "args": {"correlation": 999999}}
        )  # fmt: skip

    return add


# kernels


def test_kernels_puts_equal_launches_in_one_row_with_their_numbers(repository) -> None:
    table = only(figure(repository, "kernels | mlp_eager"), "kernels")
    rows = cells(table)
    # The five kernels are gate GEMM, GELU, up GEMM, mul, down GEMM; the first and third are the same launch.
    assert [row[0] for row in rows] == ["1, 3", "2", "4", "5"]
    assert [row[3] for row in rows] == ["2", "1", "1", "1"]
    # Median over the processes n = 0…4 of v + n - 2: v, from v - 2 to v + 2.
    assert [row[4] for row in rows] == ["60.058.0–62.0", "30.028.0–32.0", "40.038.0–42.0", "50.048.0–52.0"]
    # The grid and block in the trace.
    assert rows[0][5] == "(2 × 66 × 1) × (384 × 1 × 1)"
    assert rows[1][5] == "(24576 × 1 × 1) × (128 × 1 × 1)"
    # HBM_MB of conftest; the first row is the mean of (60, 50) and (60, 50).
    assert [row[6] for row in rows] == ["60.0 / 50.0", "50.0 / 50.0", "100 / 50.0", "55.0 / 12.0"]


def test_kernels_says_what_a_name_says_and_what_nobody_documents(repository) -> None:
    table = only(figure(repository, "kernels | mlp_eager"), "kernels")
    row = next(r for r in table.iter("tr") if DOWN in text(r))
    assert text(row[1][0]) == DOWN
    assert text(row[2]) == f"GEMM {decode(DOWN).summary}"
    assert row[2][0].get("class") == "tl-key tl-key--gemm"
    terms, meanings = [text(t) for t in row[1].iter("dt")], [text(m) for m in row[1].iter("dd")]
    parts = decode(DOWN).parts
    assert terms == [part.text for part in parts]
    for part, meaning in zip(parts, meanings, strict=True):
        assert meaning == (f"{part.meaning} (source)" if part.meaning else "not documented")
    assert [a.get("href") for a in row[1].iter("a")] == [part.source for part in parts if part.source]


def test_kernels_marks_the_cells_that_are_facts(repository) -> None:
    table = only(figure(repository, "kernels | mlp_eager"), "kernels")
    rows = [row for row in table.iter("tr") if row[0].tag == "td"]
    paths = [[fact.get("data-fact") for fact in row.iter("data")] for row in rows]
    fields = ["us", "grid", "block", "hbm_read_mb", "hbm_write_mb"]
    assert paths == [[], *([f"mlp_eager.kernel.{n}.{field}" for field in fields] for n in (2, 4, 5))]


def test_kernels_says_what_ran_beside_them(repository) -> None:
    assert text(only(figure(repository, "kernels | mlp_eager"), "beside")) == (
        "Beside the kernels: 2 memsets, 1.00 µs each."
    )
    assert text(only(figure(repository, "kernels | linear_cold", "b.md"), "beside")) == (
        "Beside the kernels: 1 memset, 1.00 µs."
    )


def test_kernels_says_when_there_is_nothing_beside_them(repository) -> None:
    record = repository.record("mlp_eager")
    processes = tuple(
        msgspec.structs.replace(p, work=tuple(w for w in p.work if w.kind == "kernel")) for p in record.processes
    )
    repository.write_stage(msgspec.structs.replace(record, processes=processes))
    beside = only(figure(repository, "kernels | mlp_eager"), "beside")
    assert text(beside) == "Beside the kernels: no memset and no memcpy."


def test_kernels_says_in_how_many_processes_a_row_ran_so(repository) -> None:
    record = repository.record("mlp_eager")
    # Processes 0 and 1 choose another kernel for the last GEMM.
    other = tuple(
        msgspec.structs.replace(p, work=(*p.work[:-1], msgspec.structs.replace(p.work[-1], name="another_kernel")))
        if n < 2
        else p
        for n, p in enumerate(record.processes)
    )
    repository.write_stage(msgspec.structs.replace(record, processes=other))
    table = only(figure(repository, "kernels | mlp_eager"), "kernels")
    # Of processes 2, 3, 4: 50, 51, 52.
    assert [row[4] for row in cells(table)][-1] == "51.050.0–52.03 of 5 processes"
    assert len(with_class(table, "draws")) == 1
    # The GELU ran so in all five, the fact kernel.2.us counts only the three: the cell is not that fact.
    assert cells(table)[1][4] == "30.028.0–32.0"
    paths = {fact.get("data-fact") for fact in table.iter("data")}
    assert "mlp_eager.kernel.2.us" not in paths
    assert {"mlp_eager.kernel.2.grid", "mlp_eager.kernel.5.us"} <= paths


def test_kernels_of_steps_that_differ_are_those_of_one_step(repository) -> None:
    record = repository.record("mlp_eager")
    trial = msgspec.structs.replace(record.processes[0].work[-1], name="trial", us=(None, None, 5.0))
    # In the third step alone, another kernel runs before the others.
    processes = tuple(msgspec.structs.replace(p, work=(trial, *p.work)) for p in record.processes)
    repository.write_stage(msgspec.structs.replace(record, processes=processes, hbm=None, hbm_missing="they differ"))
    made = figure(repository, "kernels | mlp_eager\n    step: 1")
    assert [row[0] for row in cells(only(made, "kernels"))] == ["1, 3", "2", "4", "5"]
    # The GELU takes 29 µs in the first step of the middle process, 27 to 31 over processes.
    assert cells(only(made, "kernels"))[1][4] == "29.027.0–31.0"
    assert text(made[0]) == "Kernels of mlp_eager, step 1 of 3."
    paths = {fact.get("data-fact") for fact in made.iter("data")}
    assert {"mlp_eager.step1.kernel.2.us", "mlp_eager.step1.kernel.5.grid"} <= paths


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([], ""),
        ([1, 3], "1, 3"),
        ([2, 3], "2, 3"),
        ([1, 3, 4, 5, 9], "1, 3–5, 9"),
        ([1, 3, 5, 7, 9], "1, 3, 5, 7, 9"),
        ([1, 3, 5, 7, 9, 11, 12], "1, 3, 5, 7, and 3 more"),
    ],
)
def test_many_numbers_are_said_as_ranges(numbers: list[int], said: str) -> None:
    assert in_ranges(numbers) == said


def test_kernels_says_why_there_are_no_hbm_bytes(repository) -> None:
    made = figure(repository, "kernels | mlp_compiled")
    assert text(only(made, "missing")) == "HBM bytes were not measured: ncu is not there."
    assert {len(row) for row in cells(only(made, "kernels"))} == {6}


def test_hbm_bytes_in_a_table_are_decimal_megabytes(repository) -> None:
    record = repository.record("mlp_eager")
    hbm = (KernelBytes(GEMM, 1_500_000, 2_500_000), *record.hbm[1:])
    repository.write_stage(msgspec.structs.replace(record, hbm=hbm))
    # The mean of 1.5 and 60, 2.5 and 50.
    assert cells(only(figure(repository, "kernels | mlp_eager"), "kernels"))[0][6] == "30.8 / 26.2"


# ops


def chain(item: Element) -> list[str]:
    """The names of the ops along the first branch."""
    names = []
    while item is not None:
        names.append(text(item.find("code")))
        item = next((li for li in item.findall("ul/li") if "op" in li.get("class", "").split()), None)
    return names


def test_ops_nests_the_dispatch_chain_and_names_what_each_call_started(repository) -> None:
    made = figure(repository, "ops | mlp_compiled")
    root = only(made, "ops")
    triton = next(li for li in root.iter("li") if text(li.find("code")) == "triton_poi_fused__unsafe_view_gelu_mul_0")
    started = [text(s) for s in with_class(triton, "started--pointwise")]
    assert started == [f"→ {decode('triton_poi_fused__unsafe_view_gelu_mul_0').short}"]
    mms = [li for li in root.iter("li") if text(li.find("code")) == "aten::mm"]
    # Two of the three aten::mm set memory first (split-K workspace or flags); every one starts one kernel.
    assert [len(with_class(mm, "started--memset")) for mm in mms] == [1, 1, 0]
    assert [len(with_class(mm, "started--gemm")) for mm in mms] == [1, 1, 1]


def test_ops_of_the_eager_mlp_are_aten_down_to_mm(repository) -> None:
    root = only(figure(repository, "ops | mlp_eager"), "ops")
    linear = next(li for li in root.iter("li") if text(li.find("code")) == "aten::linear")
    matmul = next(li for li in linear.findall("ul/li") if text(li.find("code")) == "aten::matmul")
    assert [text(li.find("code")) for li in matmul.findall("ul/li")] == [
        "aten::reshape",
        "aten::mm",
        "aten::_unsafe_view",
    ]
    assert chain(linear) == ["aten::linear", "aten::t", "aten::transpose", "aten::as_strided"]


def test_ops_tells_annotations_from_ops_and_idle_calls_from_launches(repository, edit_trace: Callable) -> None:
    edit_trace("mlp_eager", add_call("cudaIdle"))
    root = only(figure(repository, "ops | mlp_eager"), "ops")
    # jq: of the probe's step only the label "step" is a user_annotation.
    assert [text(li.find("code")) for li in with_class(root, "op--annotation")] == ["step"]
    for call in with_class(root, "call"):
        assert bool(with_class(call, "started")) == ("call--idle" not in call.get("class").split())
    assert len([c for c in with_class(root, "call") if "call--idle" not in c.get("class")]) == 7
    assert [text(call.find("code")) for call in with_class(root, "call--idle")] == ["cudaIdle"]


@pytest.mark.parametrize("name", ["ops", "timeline", "kernels"])
def test_a_block_of_one_step_shows_the_step_that_it_is_asked_for(repository, name: str) -> None:
    made = figure(repository, f"{name} | mlp_eager\n    step: 3")
    assert "step 3 of 3" in text(next(made.iter("figcaption")))
    with pytest.raises(PageError, match=r"page.md:3: stage mlp_eager has profiled steps 1 to 3, no step 4"):
        figure(repository, f"{name} | mlp_eager\n    step: 4")


def test_ops_says_which_step_it_shows(repository) -> None:
    caption = figure(repository, "ops | mlp_eager").find("figcaption")
    # Process 3 of 5 is published; its steps take 502, 402, 452 µs, and the third is the median.
    assert text(caption).startswith("mlp_eager, step 3 of 3 in the trace of process 3 of 5, the one nearest the median")


# profile, generated


def test_profile_is_the_file_verbatim(repository) -> None:
    table = "----\n Name  <b>&amp; **x** {{ a.b }}\n\n\n    indented `code`\n/// kernels\n----\n"
    (repository.recording / "mlp_eager" / "profile.txt").write_text(table)
    pre = only(figure(repository, "profile | mlp_eager"), "profile")
    assert pre.tag == "pre"
    assert "".join(pre.itertext()) == table


def test_generated_shows_each_artefact_highlighted_and_whole(repository) -> None:
    made = figure(repository, "generated | mlp_compiled")
    (details,) = made.findall("details")
    assert text(details.find("summary")) == "generated.py"
    assert "".join(only(details, "highlight").itertext()) == 'import triton\nNAME = "a < b & c"\n'
    assert text(with_class(details, "kn")[0]) == "import"


def test_generated_shows_a_file_of_an_unknown_kind_as_text(repository) -> None:
    record = msgspec.structs.replace(repository.record("mlp_eager"), artefacts=("kernel.zzz",))
    repository.write_stage(record)
    (repository.recording / "mlp_eager" / "kernel.zzz").write_text("import <x>\n")
    code = only(figure(repository, "generated | mlp_eager"), "highlight")
    assert "".join(code.itertext()) == "import <x>\n"
    assert not list(code.iter("span"))


KERNEL = """x = async_compile.triton('f', '''
@triton.jit
def f_longer(a):
    pass

@triton.jit
def NAME(a, b):
    c = a < b

    return c
from x import y
''')
"""


def test_generated_shows_the_function_of_one_kernel_and_nothing_else(repository) -> None:
    name = repository.facts().get("mlp_compiled.kernel.3.name").value
    path = repository.recording / "mlp_compiled" / "generated.py"
    path.write_text(KERNEL.replace("NAME", name))
    made = figure(repository, "generated | mlp_compiled\n    kernel: 3")
    code = "".join(only(made, "highlight").itertext())
    assert code == f"@triton.jit\ndef {name}(a, b):\n    c = a < b\n\n    return c\n"
    assert text(made.find("figcaption")) == "Recorded in mlp_compiled/generated.py"
    assert not list(made.iter("details"))


@pytest.mark.parametrize(("number", "message"), [(1, "holds no Triton function nvjet"), (9, "has kernels 1 to 4")])
def test_generated_refuses_a_kernel_that_no_code_was_written_for(repository, number: int, message: str) -> None:
    with pytest.raises(PageError, match=message):
        figure(repository, f"generated | mlp_compiled\n    kernel: {number}")


def test_generated_says_that_there_is_no_code(repository) -> None:
    assert text(figure(repository, "generated | mlp_eager")) == "Inductor wrote no code for this stage."


# ladder


def test_ladder_has_a_row_a_stage_with_every_value_a_fact(repository) -> None:
    table = only(figure(repository, "ladder"), "ladder")
    assert cells(table) == [
        # A cold stage: the first step's wall-clock time, 1002 in the median process; no comparison.
        ["Linear, first step", "1", "1,000by the wall clock", "–", "–", "–", "–", "0.00600"],
        # time 112 (110 to 114); in a loop 202 (200 to 204); HBM read 325, written 212;
        # 1.12 GFLOP in 112 µs = 10 TFLOP/s of 25.
        ["MLP", "5", "112110–114", "–", "202200–204", "537", "40.0 %", "0.00600"],
        # time 82; 112 / 82 = 1.366; 1.12 GFLOP in 82 µs = 13.66 TFLOP/s, 54.6 % of 25.
        ["MLP, compiled", "4", "82.080.0–84.0", "1.37× MLP", "202200–204", "–", "54.6 %", "0.00600"],
        # time 57; 112 / 57 = 1.965; 19.65 TFLOP/s, 78.6 % of 25.
        ["MLP, CUDA graph", "5", "57.055.0–59.0", "1.96× MLP", "202200–204", "–", "78.6 %", "0.00600"],
    ]
    paths = [fact.get("data-fact") for fact in table.iter("data")]
    assert paths[:3] == ["linear_cold.step1.kernel_count", "linear_cold.time_us", "linear_cold.error"]
    columns = ("kernel_count", "time_us", "back_to_back_us", "hbm_mb", "ceiling_share", "error")
    assert paths[3:9] == [f"mlp_eager.{column}" for column in columns]


def test_ladder_has_a_strip_of_what_the_gpus_time_goes_to(repository) -> None:
    table = only(figure(repository, "ladder | mlp_eager"), "ladder")
    (strip,) = with_class(table, "mix")
    # The published process 2: GEMMs 60, 60 and 50 µs, GELU 30, product 40, and the memsets of MLP_US.
    memsets = sum(w.us[0] for w in repository.record("mlp_eager").processes[2].work if w.kind == "memset")
    total = 240 + memsets
    shares = [100 * us / total for us in (170, 70, memsets)]
    parts = [(part.get("class"), part.get("style")) for part in strip]
    assert parts == [
        (f"mix-part tl-key--{kind}", f"width: {share:.2f}%")
        for kind, share in zip(("gemm", "pointwise", "memset"), shares, strict=True)
    ]
    assert (
        strip.get("aria-label")
        == f"GPU time: GEMM {shares[0]:.0f} %, pointwise {shares[1]:.0f} %, memset {shares[2]:.0f} %"
    )


def test_ladder_says_why_hbm_is_missing(repository) -> None:
    table = only(figure(repository, "ladder | mlp_compiled"), "ladder")
    assert [e.get("title") for e in with_class(table, "missing")] == [
        "HBM bytes of stage mlp_compiled were not measured: ncu is not there"
    ]


def test_ladder_shows_the_named_stages_in_the_order_given(repository) -> None:
    table = only(figure(repository, "ladder | mlp_cudagraph mlp_eager"), "ladder")
    assert [row[0] for row in cells(table)] == ["MLP, CUDA graph", "MLP"]


def number_chapters(repository, **chapters: int) -> None:
    path = repository.root / "snippets" / "ladder.toml"
    toml = path.read_text()
    for name, chapter in chapters.items():
        toml = toml.replace(f'name = "{name}"\n', f'name = "{name}"\nchapter = {chapter}\n')
    path.write_text(toml)


def test_ladder_of_a_chapter_fills_the_rows_so_far_and_names_the_rest(repository) -> None:
    number_chapters(repository, mlp_cudagraph=1, mlp_eager=2, mlp_compiled=3)  # linear_cold is in none
    table = only(figure(repository, "ladder\n    chapter: 2"), "ladder")
    rows = cells(table)
    assert [row[0] for row in rows] == ["MLP, CUDA graph", "MLP", "MLP, compiled"]
    assert rows[1][1:3] == ["5", "112110–114"]
    assert rows[2][1:] == ["chapter 3"]


def test_a_chapter_says_under_its_title_which_it_is(repository) -> None:
    number_chapters(repository, mlp_eager=1)
    block = "/// ladder\n{}///\n"
    made = parse(repository.page("# The MLP\n\nText.\n\n" + block.format("    chapter: 4\n"), "chapters/x.md"))
    said = only(made, "which-chapter")
    assert text(said) == "Chapter 4"
    order = [element.tag for element in made.iter() if element.tag in ("h1", "p") or element is said]
    assert order[:3] == ["h1", "div", "p"]
    other = parse(repository.page("# The ladder\n\n" + block.format(""), "y.md"))
    assert not with_class(other, "which-chapter")


def test_a_stage_that_is_no_rung_is_not_on_the_ladder_unless_named(repository) -> None:
    number_chapters(repository, mlp_eager=1, mlp_compiled=1)
    path = repository.root / "snippets" / "ladder.toml"
    path.write_text(path.read_text().replace('name = "mlp_compiled"\n', 'name = "mlp_compiled"\nrung = false\n'))
    for header in ("ladder", "ladder\n    chapter: 1"):
        assert "MLP, compiled" not in [row[0] for row in cells(only(figure(repository, header), "ladder"))]
    assert [row[0] for row in cells(only(figure(repository, "ladder | mlp_compiled"), "ladder"))] == ["MLP, compiled"]


@pytest.mark.parametrize("header", ["ladder | mlp_eager\n    chapter: 1", "ladder\n    chapter: -1"])
def test_ladder_refuses_a_chapter_with_stages_or_below_one(repository, header: str) -> None:
    with pytest.raises(PageError, match="takes a chapter from 1 on") as error:
        figure(repository, header)
    assert "write /// ladder" in error.value.hint


# stagefacts, reproduce


def test_stagefacts_lists_what_was_measured(repository) -> None:
    made = only(figure(repository, "stagefacts | mlp_eager"), "stagefacts")
    entries = {text(t): text(d) for t, d in zip(made.iter("dt"), made.iter("dd"), strict=True)}
    assert entries == {
        "What it is": "What mlp_eager is.",
        "Kernels a step": "5",
        "Launches a step": "7: cudaMemsetAsync 2, cuLaunchKernelEx 3, cudaLaunchKernel 2",
        "GPU time": "112 µs 110–114",
        "Memsets a step": "2",
        "CPU in the forward": "312 µs 310–314",
        "In a loop": "202 µs 200–204",
        "First call": "102 ms 100–104",
        "Peak memory": "152 MB 150–154",
        "HBM read and written": "537 MB",
        "Error": "0.00600 0.00400–0.00800",
        "Ways it was launched": "1",
    }


def test_stagefacts_of_a_cold_stage_shows_its_first_step_and_says_what_it_has_not(repository) -> None:
    made = only(figure(repository, "stagefacts | linear_cold"), "stagefacts")
    assert "linear_cold.step1.kernel_count" in {fact.get("data-fact") for fact in made.iter("data")}
    why = [e.get("title") for e in with_class(made, "missing")]
    assert why[0] == "stage linear_cold is cold: its steps are not run back to back"


def test_reproduce_gives_the_command_the_machine_and_the_files(repository) -> None:
    record = repository.record("mlp_eager")
    made = only(figure(repository, "reproduce | mlp_eager", "stages/x.md"), "reproduce")
    entries = {text(t): text(d) for t, d in zip(made.iter("dt"), made.iter("dd"), strict=True)}
    assert entries == {
        "Run it": "python snippets/mlp_eager.py",
        "Record it": "python -m build_traces record --stages mlp_eager",
        "Machine": record.machine,
        "Recorded": "2026-12-01",
        "Commit": "0123456789",
        "Fresh processes": "5",
        "sha256 of the snippets": record.sha256[:12],
        "Files": "trace.json.gz · stage.json · profile.txt",
    }
    folder = "../recordings/nvidia-h200_torch-2.11.0/mlp_eager"
    assert [a.get("href") for a in made.iter("a")] == [
        f"{folder}/trace.json.gz", f"{folder}/stage.json", f"{folder}/profile.txt",
    ]  # fmt: skip


# facts, kernel-names


def test_facts_lists_the_whole_vocabulary_with_examples(repository) -> None:
    tables = list(figure(repository, "facts").iter("table"))
    assert [len(cells(table)) for table in tables] == [len(STAGE_FACTS), len(KERNEL_FIELDS), len(RECORDING_FACTS)]
    rows = {row[0]: row[1:] for table in tables for row in cells(table)}
    assert rows["<stage>.kernel_count[.<text>]"] == ["", STAGE_FACTS["kernel_count"].about, "5"]
    assert rows["<stage>.call_count.<call>"][2] == "2"  # cudaMemsetAsync, its first launch
    assert rows["<stage>.kernel.<n>.<field>"][2] == decode(GEMM).short
    assert rows["<stage>.kernel.<n>.us"] == ["µs", KERNEL_FIELDS["us"].about, "60.0"]
    assert rows["recording.copy_tb_per_s"][2] == "4.10"


def test_facts_of_a_stage_without_a_value_say_why(repository) -> None:
    made = figure(repository, "facts | mlp_compiled")
    assert "HBM bytes of stage mlp_compiled were not measured: ncu is not there" in {
        e.get("title") for e in with_class(made, "missing")
    }


def test_kernel_names_lists_the_families_without_a_recording(repository) -> None:
    html = repository.convert("/// kernel-names\n///\n", recording="none")
    table = only(parse(html), "kernel-names")
    assert [row[:3] for row in cells(table)] == [
        [family.key, family.maker, " ".join(family.example.split())] for family in FAMILIES.values()
    ]


def test_attrs_add_classes_to_a_block(repository) -> None:
    made = figure(repository, "profile | mlp_eager\n    attrs: {class: wide, id: table}")
    assert (made.get("class"), made.get("id")) == ("trace-block trace-block--profile wide", "table")


def test_a_call_outside_any_op_is_shown(repository, edit_trace: Callable) -> None:
    edit_trace("mlp_eager", add_call("cudaOutside"))
    root = only(figure(repository, "ops | mlp_eager"), "ops")
    # It starts 1 µs into the step, before the label.
    assert [text(li.find("code")) for li in root.findall("li")] == ["cudaOutside", "step"]


def test_a_count_that_differs_by_step_is_missing_in_tables_and_says_why(repository, edit_trace: Callable) -> None:
    def drop_the_last_kernel(events: list[dict]) -> None:
        events.remove(max((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"]))

    edit_trace("mlp_eager", drop_the_last_kernel)
    differs = "of stage mlp_eager differs by step:"
    ladder = figure(repository, "ladder | mlp_eager", "a.md")
    assert with_class(ladder, "missing")[0].get("title") == f"kernel_count {differs} 5, 5, 4"
    facts = figure(repository, "stagefacts | mlp_eager", "b.md")
    assert {e.get("title") for e in with_class(facts, "missing")} == {
        f"kernel_count {differs} 5, 5, 4", f"launch_count {differs} 7, 7, 6",
    }  # fmt: skip


# what several blocks share


def test_a_range_whose_ends_read_the_same_is_left_out() -> None:
    assert extremes(Spread(235.2, 235.1, 235.3)).text in (None, "")
    assert extremes(Spread(235.2, 234.0, 236.0)).text == "234–236"


def test_a_timeline_explains_the_colors_it_uses_and_no_others(repository) -> None:
    keys = [
        span.text
        for span in figure(repository, "timeline | mlp_eager").iter("span")
        if "tl-key" in span.get("class", "")
    ]
    # The probe's eager MLP has ops, its label, calls, two kinds of kernels, memsets, gaps between, and no memcpy.
    assert keys == ["ops", "annotations", "calls", "GEMMs", "pointwise kernels", "memsets", "the GPU idles"]


def test_equal_idle_calls_in_a_row_share_a_line(repository, edit_trace: Callable) -> None:
    """Calls that start nothing, before the step's label: two of one name, 0.5 and 0.25 µs, then another."""

    def add(events: list[dict]) -> None:
        sync = next(e for e in events if e.get("name") == "cudaDeviceSynchronize")
        step = min((e for e in events if str(e.get("name")).startswith("ProfilerStep")), key=lambda e: e["ts"])
        for after, dur, name in ((1.0, 0.5, "cudaGetDevice"), (2.0, 0.25, "cudaGetDevice"), (3.0, 1.0, "cudaFree")):
            events.append(sync | {"name": name, "ts": step["ts"] + after, "dur": dur, "args": {}})

    edit_trace("linear_cold", add)  # a cold stage shows its first step
    made = figure(repository, "ops | linear_cold")
    idle = ["".join(li.itertext()) for li in made.iter("li") if "call--idle" in li.get("class", "")]
    assert idle[:2] == ["cudaGetDevice × 2 0.750 µs", "cudaFree 1.00 µs"]
