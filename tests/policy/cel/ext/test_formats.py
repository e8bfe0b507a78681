"""Named formats of strings."""

import pytest

from policy.cel import CelError
from policy.cel.ext.formats import CHECKS
from tests.policy.cel.ext.evaluation import evaluate

GOOD = {
    "byte": ["aGVsbG8=", "aGVs", "AA=="],
    "date": ["2020-02-29", "0000-02-29"],
    "datetime": ["2021-01-01T00:00:00Z", "2021-01-01t23:59:59.5+01:00", "2021-01-01T00:00:00ZTx"],
    "dns1035Label": ["a", "a-1"],
    "dns1035LabelPrefix": ["a-", "ab-"],
    "dns1123Label": ["a", "1-a", "a" * 63],
    "dns1123LabelPrefix": ["1-", "--"],
    "dns1123Subdomain": ["a.b-c.d", "a" * 253],
    "dns1123SubdomainPrefix": ["a.b-"],
    "labelValue": ["", "A_b.c", "a" * 63],
    "qualifiedName": ["a", "A_b", "example.com/A.b"],
    "uri": ["http://example.com", "/path", "mailto:a"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
}
BAD = {
    "byte": ["", "aGVsbG8", "====", "A===", "aGV\n"],
    "date": ["2021-02-29", "2021-1-1", "2021-13-01", "20210101", "2021-01-01 "],
    "datetime": ["2021-01-01", "2021-01-01T24:00:00Z", "2021-01-01T00:00:00", "2021-01-01T00:60:00Z", "2021-02-29T00:00:00Z"],
    "dns1035Label": ["1a", "", "a-", "A"],
    "dns1035LabelPrefix": ["-", "1b-"],
    "dns1123Label": ["a.b", "-a", "a_b", "a" * 64, "ä", "a\n", ""],
    "dns1123LabelPrefix": ["-", "ä-", "AB-"],
    "dns1123Subdomain": ["a..b", ".a", "a" * 254, "a-.b"],
    "dns1123SubdomainPrefix": ["..-", ""],
    "labelValue": ["-a", "a" * 64, "a b"],
    "qualifiedName": ["a/b/c", "/a", "a/", "A/b", "a" * 64, ""],
    "uri": ["nonsense", "", "http://a b/"],
    "uuid": ["123", "", "123e4567-e89b-12d3-a456-42661417400g"],
}


def test_every_format_has_good_and_bad_examples() -> None:
    """So that none is forgotten here."""
    assert set(GOOD) == set(BAD) == set(CHECKS)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_a_good_text_has_nothing_wrong(name: str, text: str) -> None:
    """By the name of the format and by its function."""
    assert evaluate(f"format.{name}().validate(text).hasValue()", {"text": text}) is False
    assert evaluate(f'format.named("{name}").value().validate(text).hasValue()', {"text": text}) is False


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_text_has_a_sentence_for_what_is_wrong(name: str, text: str) -> None:
    """It does not show the text."""
    problems = evaluate(f"format.{name}().validate(text).value()", {"text": text})
    assert problems
    assert len(text) < 4 or not any(text in problem for problem in problems)


def test_a_format_is_known_by_its_name() -> None:
    """Others are absent, and two are equal when their names are."""
    assert evaluate('format.named("nothing").hasValue()') is False
    assert evaluate('format.named("uri").value() == format.uri()') is True
    assert evaluate("format.uri() == format.uuid()") is False
    with pytest.raises(CelError):
        evaluate('format.nothing().validate("a")')
