"""Quantities: read, written, compared and added as the API server does it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.quantity import INT64_MAX, LONGEST, Format, NotAQuantity, Quantity, of, parse

DIGITS = st.text("0123456789", min_size=1, max_size=20)
SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text that is a quantity."""
    fraction = "." + draw(DIGITS) if draw(st.booleans()) else ""
    return draw(st.sampled_from(["", "-", "+"])) + draw(DIGITS) + fraction + draw(SUFFIXES)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("100Ki", "100Ki"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("1E", "1E"),
        ("12345678m", "12345678m"),
        ("2500000k", "2500M"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("12345678901234567890", "12345678901234567890"),
        # The server takes these over as they are.
        ("+5", "+5"),
        ("1.500", "1.500"),
        ("007Ki", "007Ki"),
        # And it writes no suffix where there is none for the number.
        ("1000E", "1"),
        # A sign or a suffix alone is zero for it.
        ("-", "0"),
        ("k", "0"),
        ("Mi", "0"),
        (".", "0"),
    ],
)
def test_a_quantity_is_written_as_the_server_writes_it(text: str, canonical: str) -> None:
    """The canonical form, with the server's own exceptions from it."""
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1K",
        "1i",
        "1mi",
        "1e",
        "1e--3",
        "1e.5",
        "ee",
        "1_0",
        "0x1",
        "1,3G",
        "..",
        "1.5.",
        "1+5",
        "1M5",
        "Ei",
        "e-26",
        "\u0661",
        "1" * (LONGEST + 1),
        "1e99999999999999999999",
    ],
)
def test_a_text_that_is_no_quantity_is_refused(text: str) -> None:
    """Spaces, unknown suffixes and other digits than 0 to 9."""
    with pytest.raises(NotAQuantity):
        parse(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("-1", -1),
        ("1e3", 1000),
        ("8Ti", 8 * 2**40),
        (str(INT64_MAX), None),  # 19 digits are more than the server trusts to fit
        ("999999999999999999", 999999999999999999),
        ("1m", None),
        ("1000m", None),
        ("1.5Gi", None),
        ("1Ei", None),
        ("100E", None),
    ],
)
def test_only_a_small_whole_number_is_an_integer(text: str, number: int | None) -> None:
    """What the server holds in another form is none, even where the number is whole."""
    assert parse(text).integer() == number


@pytest.mark.parametrize(("text", "double"), [("1.1", 1.1), ("50k", 5e4), ("1e400", float("inf")), ("1n", 1e-9), ("0", 0.0)])
def test_a_quantity_has_a_double_near_it(text: str, double: float) -> None:
    """Infinity stands for what is too large."""
    assert parse(text).approximate() == double


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1Gi", "1G", 1),
        ("200M", "0.2G", 0),
        ("-1", "1", -1),
        ("-2", "-1", -1),
        ("0", "-0", 0),
        ("0.1", "100m", 0),
        ("1e2000000000", "1", 1),
        ("1", "1e-2000000000", 1),
        ("-1e2000000000", "1", -1),
    ],
)
def test_quantities_are_compared_by_their_numbers(left: str, right: str, order: int) -> None:
    """Exponents that nobody could write out are no harm."""
    assert parse(left).compare(parse(right)) == order
    assert parse(right).compare(parse(left)) == -order


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1Gi", "1Gi", "2Gi"),
        ("1", "1Ki", "1025"),
        ("0", "1Ki", "1Ki"),
        ("50k", "-20k", "30k"),
        ("1", "0.1n", "1000000001n"),
        ("9223372036854775807", "1", "9223372036854775808"),
        ("1Ki", "1", "1025"),
    ],
)
def test_a_sum_is_exact_and_keeps_the_format_of_the_first(left: str, right: str, total: str) -> None:
    """A zero has no format of its own."""
    assert str(parse(left).add(parse(right))) == total


def test_a_sum_that_would_fill_the_memory_is_refused() -> None:
    """Two short texts could ask for two thousand million digits."""
    with pytest.raises(NotAQuantity, match="4000 digits"):
        parse("1e2000000000").add(parse("1"))


def test_rounding_goes_up_to_the_asked_place() -> None:
    """Requests of a pod are rounded to milli; what is coarser stays as it was written."""
    assert str(parse("0.1m").rounded_up(-3)) == "1m"
    assert str(parse("-1.1m").rounded_up(-3)) == "-2m"
    assert str(parse("+5").rounded_up(-3)) == "+5"


def test_equal_numbers_are_one_key() -> None:
    """Equality and hash look at the number, not at the form."""
    assert {parse("1"), parse("1000m"), parse("1e0"), of(1)} == {of(1)}
    assert parse("1") != "1"


@given(texts())
def test_the_canonical_form_means_the_same_number(text: str) -> None:
    """Written and read again, the number and the text stay, but for suffixes that do not exist."""
    quantity = parse(text)
    if abs(quantity.unscaled) * 10 ** max(quantity.exponent, 0) < 10**20:
        again = parse(str(quantity))
        assert again == quantity
        assert str(parse(str(again))) == str(again)


@given(texts(), texts())
def test_a_difference_undoes_a_sum(left: str, right: str) -> None:
    """Exactly: nothing is rounded after reading."""
    a, b = parse(left), parse(right)
    assert a.add(b).sub(b) == a
    assert a.add(b) == b.add(a)
    assert (a.compare(b) > 0) == (a.sub(b).sign > 0)


def test_a_quantity_of_an_int_has_the_asked_format() -> None:
    """What CEL adds to a quantity is of the exponent format, as in the server."""
    assert of(5, Format.EXPONENT) == Quantity(5)
