"""Hostile inputs: each library charges for what it does, before it does it."""

import tracemalloc

import pytest

from policy.cel import LIMIT, Budget, CelError, Exhausted
from policy.cel.ext import LIBRARIES
from tests.policy.cel.ext.evaluation import evaluate

LONG = "a" * 1_000_000
BINDINGS = {
    "long": LONG,
    "commas": "a," * 500_000,
    "numbers": list(range(100_000)),
    "texts": [f"{number:07}" for number in range(100_000)],
    "same": ["x" * 20_000] * 3_000,
    "nested": [[number] for number in range(100_000)],
}
MEMORY = 20_000_000  # bytes


@pytest.mark.parametrize(
    "text",
    [
        'long.split("")',
        'commas.split(",")',
        'long.replace("", long)',
        'long.replace("a", "aaaaaaaaaaaa")',
        'long.findAll("a")',
        'long.findAll("")',
        'long.find("(a*)*b{900}")',
        'regex.replace(long, "a", "bb")',
        'regex.extractAll(long, "a")',
        "lists.range(1000000)",
        "lists.range(9223372036854775807)",
        "same.sort()",
        "same.distinct()",
        "nested.distinct()",
        "nested.flatten()",
        "numbers.sum()",
        "sets.equivalent(texts, texts)",
        "math.greatest(numbers)",
        '"%s".format([nested])',
        "texts.join(long)",
        "semver(long)",
        'isURL("/" + long)',
    ],
)
def test_what_is_too_much_takes_neither_memory_nor_an_answer(text: str) -> None:
    """The budget ends before the memory is taken."""
    tracemalloc.start()
    try:
        with pytest.raises(Exhausted):
            evaluate(text, BINDINGS)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        'long.lastIndexOf("ab" + long.substring(500000))',
        'long.indexOf("b" + long.substring(500000))',
        "long.upperAscii().trim().size()",
        "strings.quote(long).size()",
        "isQuantity(long)",
        "isIP(long)",
        "isCIDR(long)",
        "format.dns1123Subdomain().validate(long).hasValue()",
        "format.byte().validate(long).hasValue()",
        "format.uuid().validate(long).hasValue()",
        "format.datetime().validate(long).hasValue()",
        "base64.encode(bytes(long)).size()",
        "texts.isSorted()",
        "texts.indexOf('x')",
        "numbers.max()",
    ],
)
def test_what_is_long_is_answered_within_the_budget(text: str) -> None:
    """In time that grows with the length alone, and in little memory."""
    budget = Budget()
    tracemalloc.start()
    try:
        evaluate(text, BINDINGS, budget)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert 0 < budget.spent <= LIMIT


def test_a_precision_has_a_limit() -> None:
    """Digits that nobody asked for in earnest."""
    with pytest.raises(CelError):
        evaluate('"%.10000000f".format([1.0])')


def test_every_library_has_a_name_of_its_own() -> None:
    """And lists are in the order of the names."""
    names = [library.name for library in LIBRARIES]
    assert names == sorted(set(names))
