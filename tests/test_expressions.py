"""Expressions: what they come to, which facts they use, and everything that they may not do."""

import pytest

from build_traces.errors import FactError
from build_traces.expressions import ExpressionError, check, evaluate, one_line, paths

# In tests/conftest.py mlp_eager runs memsets and kernels of 1, 60, 30, 1, 60, 40 and 50 µs: 242 in all, of which
# its five kernels are 240; mlp_compiled 1, 56, 1, 60, 40 and 50: 208. One process's times move by up to 2 µs a kernel.


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{mlp_eager.kernel_count}", 5),
        ("{mlp_eager.kernel_count} - {mlp_eager.memset_count} * 2", 1),
        ("100 * {mlp_eager.kernel.4.us} / {mlp_eager.kernel_us}", 100 * 40 / 240),
        ("{mlp_eager.gpu_us} - {mlp_compiled.gpu_us}", 34.0),
        ("{mlp_eager.kernel.1.us.high} - {mlp_eager.kernel.1.us.low}", 4.0),
        ("2 * 8192 * 3072 / 1e6", 50.331648),
        ("round({mlp_eager.gpu_us} / 7, 1)", 34.6),
        ("max({mlp_eager.gpu_us}, {mlp_compiled.gpu_us}) - min(3, 1, 2) + abs(-5)", 246.0),
        ("7 // 2 + 7 % 4 + 2 ** 3", 14),
        ("{mlp_eager.kernel_count} == 5 and {mlp_eager.memset_count} != 2", False),
        ("{mlp_eager.kernel_count} < 5 or not {mlp_eager.memset_count} > 2", True),
        ("3 < {mlp_eager.kernel_count} <= 5", True),
        ("'gelu' in {mlp_compiled.kernel.3.name} and 'relu' not in {mlp_compiled.kernel.3.name}", True),
        ("{mlp_eager.kernel.2.launched_by} in ('cudaLaunchKernel', 'cuLaunchKernel')", True),
        ("{mlp_eager.kernel.1.name} == {mlp_compiled.kernel.1.name}", True),
        ("'more' if {mlp_eager.gpu_us} > {mlp_compiled.gpu_us} else 'less'", "more"),
        ("{mlp_eager.op_count.aten::mm} + {mlp_eager.op_count.aten::_unsafe_view}", 6),
        ("{mlp_compiled.op_count.Torch-Compiled Region: 1/0}", 1),
        ("{ mlp_eager.kernel_count }+1", 6),
        ('"{mlp_eager.kernel_count}" == "{" + "mlp_eager.kernel_count}"', True),
        ("{mlp_eager.kernel_count}\n    + 1", 6),
    ],
)
def test_an_expression_comes_to_its_value(repository, written: str, value: object) -> None:
    result = evaluate(written, repository.facts()).value
    assert result == pytest.approx(value) if isinstance(value, float) else result == value
    assert type(result) is type(value)


def test_its_facts_are_told_once_each_in_the_order_of_their_use(repository) -> None:
    written = "{mlp_eager.gpu_us} + {recording.sm_count} + {mlp_eager.gpu_us}"
    value = evaluate(written, repository.facts())
    assert [(fact.path, fact.value) for fact in value.facts] == [
        ("mlp_eager.gpu_us", 242.0),
        ("recording.sm_count", 132),
    ]
    assert value.value == 616.0
    assert paths(written) == ("mlp_eager.gpu_us", "recording.sm_count")


def test_a_fact_that_need_not_be_computed_must_still_exist(repository) -> None:
    with pytest.raises(ExpressionError, match=r"no fact 'mlp_eager\.kernel_cuont'"):
        evaluate("True or {mlp_eager.kernel_cuont} == 5", repository.facts())


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("{mlp_eager.gpu_uss} / 2", "there is no fact 'mlp_eager.gpu_uss'", "did you mean mlp_eager.gpu_us"),
        ("{zzz.gpu_us} / 2", "there is no stage 'zzz'", "there are linear_cold"),
        ("{mlp_eager.kernel.9.us} / 2", "has kernels 1 to 5 a step, no kernel 9", ""),
        ("mlp_eager.gpu_us / 2", "a path stands without braces", "write {mlp_eager.gpu_us}, in braces"),
        ("2 * mlp_eager.op_count.aten::mm", "this is no expression", "write {mlp_eager.op_count.aten::mm}, in braces"),
        ("{mlp_eager.gpu_us} /", "this is no expression", "each fact stands in braces"),
        ("", "this is no expression", "each fact stands in braces"),
        ("{}", "no path between the braces", "each fact stands in braces"),
        ("{mlp_eager.gpu_us", "a brace { has no partner", "each fact stands in braces"),
        ("mlp_eager.gpu_us}", "a brace } has no partner", "each fact stands in braces"),
        ("{mlp_eager.gpu_us} / {mlp_eager.memcpy_count}", "it divides by zero", "ask whether"),
        ("{mlp_eager.gpu_us} % {mlp_eager.memcpy_count}", "it divides by zero", "ask whether"),
        ("{recording.gpu} + 1", "it cannot be computed: can only concatenate str", "'NVIDIA H200' is text"),
        ("{mlp_eager.kernel_count} == '5'", "5 and '5' are never equal", "5 is a whole number"),
        ("{recording.gpu} != 5", "'NVIDIA H200' and 5 are never equal", "'NVIDIA H200' is text"),
        ("{recording.gpu} < 5", "not supported between", "'NVIDIA H200' is text"),
        ("'%s' % {recording.gpu}", "% takes two numbers", "'NVIDIA H200' is text"),
        ("sum({mlp_eager.gpu_us})", "there is no function 'sum'", "the functions are round, min, max, abs"),
        ("round({mlp_eager.gpu_us}, ndigits=1)", "there is no function 'round'", "without keywords"),
        ("gpu + 1", "there is no name 'gpu'", "text stands in quotes"),
        ("rond + 1", "there is no name 'rond'", "did you mean round?"),
        ("_fact_in_braces_", "there is no name '_fact_in_braces_'", "text stands in quotes"),
        ("{mlp_eager.gpu_us}(2)", "this is no call of a function", "the functions are"),
        ("(-8) ** 0.5", "which is no number or text", ""),
        ("1e308 * 10", "it comes to inf", ""),
        ("10 ** 400 * 1.5", "it cannot be computed: int too large", ""),
        ("None", "None is no number", "write a number"),
        ("b'x'", "is no number", "write a number"),
        ("1; 2", "this is no expression", ""),
        ("x = 5", "this is no expression", ""),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_expression(
    repository, written: str, message: str, hint: str
) -> None:
    with pytest.raises(ExpressionError) as error:
        evaluate(written, repository.facts())
    assert message in error.value.message
    assert error.value.message.endswith(f"in {one_line(written)!r}")
    assert hint in error.value.hint


@pytest.mark.parametrize(
    "written",
    [
        "().__class__",
        "{recording.gpu}.upper()",
        "{recording.gpu}[0]",
        "__import__('os')",
        "open('x')",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "f'{recording.gpu}'",
        "{1, 2}",
        "(yield)",
        "1 << 9",
        "1 is 1",
        "9 ** 99999999",
        "'a' * 10 ** 9",
        "('a' * 60000) + ('a' * 60000)",
    ],
)
def test_nothing_else_of_python_is_there(repository, written: str) -> None:
    with pytest.raises(FactError):
        evaluate(written, repository.facts())


def test_a_deep_expression_is_refused(repository) -> None:
    with pytest.raises(ExpressionError):
        evaluate("(" * 500 + "1" + ")" * 500, repository.facts())
    with pytest.raises(ExpressionError):
        evaluate("+".join("1" * 5000), repository.facts())


def test_a_fact_can_be_asked_for(repository) -> None:
    assert evaluate("1 + 1", repository.facts()).facts == ()
    with pytest.raises(ExpressionError, match="there is no fact"):
        evaluate("1 + 1", repository.facts(), needs_fact=True)


def test_a_check_is_true_or_false(repository) -> None:
    assert check("{mlp_eager.kernel_count} == 5", repository.facts()).value is True
    with pytest.raises(ExpressionError, match="a check is true or false, this is 5") as error:
        check("{mlp_eager.kernel_count}", repository.facts())
    assert error.value.hint == "compare it with something, as in {mlp_eager.kernel_count} == 5"
    with pytest.raises(ExpressionError, match="there is no fact"):
        check("1 == 1", repository.facts())
