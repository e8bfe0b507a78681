"""Quantities as values of CEL; how they are read is tested beside `policy.quantity`."""

import pytest

from policy.cel import CelError
from tests.policy.cel.ext.evaluation import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('quantity("1Gi") == quantity("1024Mi")', True),
        ('quantity("1Gi") != quantity("1G")', True),
        ('quantity("1k").asInteger()', 1000),
        ('quantity("1.5Gi").isInteger()', False),
        ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000) == quantity("20")', True),
        ('quantity("50k").sub(20000).asApproximateFloat()', 30000.0),
        ('quantity("200M").compareTo(quantity("0.2G"))', 0),
        ('quantity("50M").compareTo(quantity("50Mi"))', -1),
        ('quantity("150Mi").isGreaterThan(quantity("100Mi"))', True),
        ('quantity("150Mi").isLessThan(quantity("100Mi"))', False),
        ('sign(quantity("-1"))', -1),
        ('isQuantity("1.3Gi")', True),
        ('isQuantity("1,3G")', False),
        ('quantity("1").add(quantity("1Ki"))', "1025"),
    ],
)
def test_a_quantity_answers(text: str, value: object) -> None:
    """Exactly, whatever the suffixes."""
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        'quantity("Three")',
        'quantity("1m").asInteger()',
        'quantity("1e2000000000").add(1)',
        'quantity("1").sub(quantity("1e2000000000"))',
        'quantity("1").sign()',
        'quantity("1") < quantity("2")',
        'quantity("1").add("1")',
        "isQuantity(1)",
        'string(quantity("1"))',
    ],
)
def test_what_has_no_result_is_an_error(text: str) -> None:
    """What is no number, what would be too long, and what the API server does not compile either."""
    with pytest.raises(CelError):
        evaluate(text)
