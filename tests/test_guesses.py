"""A guess is judged by what was measured, and the verdict shows both."""

import pytest

from build_traces.guesses import GuessError, check, shown


@pytest.mark.parametrize(
    ("guess", "measured", "within", "right", "said"),
    [
        (5, 5, None, True, "right"),
        (4, 5, None, False, "not right"),
        (5.0, 5, None, True, "right"),
        # 60 / 57.2 = 1.049 and 57.2 / 60 the other way round: a ratio, so both sides are alike.
        (60, 57.2, 1.05, True, "right: within a factor of 1.05"),
        (57.2, 60.0, 1.05, True, "right: within a factor of 1.05"),
        (61, 57.2, 1.05, False, "not right: 1.07 times too high"),
        (5.72, 57.2, 1.5, False, "not right: 10.0 times too low"),
        (0, 57.2, 1.5, False, "not right"),
        (0, 0.0, 1.5, True, "right"),
        (3, 0.0, 1.5, False, "not right"),
        (-3, 57.2, 1.5, False, "not right"),
    ],
)
def test_a_number_is_equal_or_within_a_factor(
    guess: float, measured: float, within: float | None, right: bool, said: str
) -> None:
    verdict = check("How much?", guess, measured, within=within)
    assert (verdict.right, verdict.said) == (right, said)


@pytest.mark.parametrize(("guess", "right"), [("CPU", True), ("GPU", False)])
def test_a_word_is_one_of_the_options(guess: str, right: bool) -> None:
    assert check("Which?", guess, "CPU", options=("CPU", "GPU")).right is right


@pytest.mark.parametrize("guess", ["cpu", "both", 1, True])
def test_another_word_is_refused_with_the_options(guess: object) -> None:
    with pytest.raises(GuessError, match=r"(?s)cannot be judged.*write one of 'CPU', 'GPU'") as error:
        check("Which?", guess, "CPU", options=("CPU", "GPU"))
    assert "next:" in str(error.value)


@pytest.mark.parametrize("guess", ["5", "five", True])
def test_a_number_in_quotes_is_refused(guess: object) -> None:
    with pytest.raises(GuessError, match="is no number"):
        check("How many?", guess, 5)


def test_no_guess_is_neither_right_nor_wrong_and_says_what_to_do() -> None:
    verdict = check("How many?", None, 5)
    assert verdict.right is None
    assert str(verdict) == (
        "How many?\n"
        "  your guess   none yet: set it above, then run both cells again\n"
        "  your trace   5"
    )  # fmt: skip


def test_the_verdict_shows_guess_measurement_and_what_to_look_at() -> None:
    verdict = check("How long?", 50, 57.24, unit="µs", within=1.1, evidence=["57.2 µs  a kernel", "0.8 µs  a memset"])
    assert str(verdict) == (
        "How long?\n"
        "  your guess   50 µs\n"
        "  your trace   57.2 µs\n"
        "  verdict      not right: 1.14 times too low\n"
        "\n"
        "  57.2 µs  a kernel\n"
        "  0.8 µs  a memset"
    )


def test_another_judge_is_named() -> None:
    assert "\n  the sum      25.0 %\n" in str(check("How many?", 25, 25.0, unit="%", judge="the sum"))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (8192, "", "8,192"),
        (57.248, "µs", "57.2 µs"),
        (234.4, "µs", "234 µs"),
        (1234.5, "µs", "1,234 µs"),
        (2.688, "µs", "2.69 µs"),
        (0.7364, "µs", "0.736 µs"),
        ("CPU", "", "CPU"),
    ],
)
def test_a_value_has_three_significant_digits_or_all_before_the_point(value: object, unit: str, text: str) -> None:
    assert shown(value, unit) == text
