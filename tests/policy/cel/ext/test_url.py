"""URLs in their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.cel import Budget, CelError
from policy.cel.ext import url
from tests.policy.cel.ext.evaluation import evaluate

PIECES = st.sampled_from(
    [
        "http://",
        "https:",
        "mongodb://",
        "//",
        "/",
        "example.com",
        ":80",
        ":",
        "[::1]",
        "[fe80::1%25a]",
        "user:p@",
        "?",
        "#",
        "a=b",
        "&",
        "%20",
        "%zz",
        "%",
        "é",
        ";",
        "*",
        "<",
        " ",
        "\x7f",
    ]
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('url("https://user:pass@example.com:80/path?query=val#fragment").getHost()', "example.com:80"),
        ('url("https://example.com:80/").getHostname()', "example.com"),
        ('url("https://[::1]:80/").getHost()', "[::1]:80"),
        ('url("https://[::1]:80/").getHostname()', "::1"),
        ('url("https://[fe80::1%25en0]/").getHostname()', "fe80::1%en0"),
        ('url("https://[::ffff:1.2.3.4]/").getHostname()', "::ffff:1.2.3.4"),
        ('url("https://example.com:80/").getPort()', "80"),
        ('url("https://example.com:/").getPort()', ""),
        ('url("mongodb://a:1,b:2/").getPort()', "2"),
        ('url("HTTPS://example.com/").getScheme()', "https"),
        ('url("/path").getScheme()', ""),
        ('url("mailto:someone").getEscapedPath()', ""),
        ('url("https://example.com/with space").getEscapedPath()', "/with%20space"),
        ('url("https://example.com/a%2fb").getEscapedPath()', "/a%2fb"),
        ('url("https://example.com/ä").getEscapedPath()', "/%C3%A4"),
        ('url("*").getEscapedPath()', "*"),
        ('url("https://%ff.com").getHost()', "\ufffd.com"),
        ('url("/?k1=a&k2=b&k2=c&&d").getQuery()', {"k1": ["a"], "k2": ["b", "c"], "d": [""]}),
        ('url("/?a+b=c%20d&e;f=1&%zz=2").getQuery()', {"a b": ["c d"]}),
        ('url("/?").getQuery()', {}),
        ('url("https://example.com/a b") == url("https://example.com/a%20b")', True),
        ('url("https://example.com/#a") == url("https://example.com/#b")', False),
        ('isURL("/absolute")', True),
        ('isURL("relative")', False),
        ('isURL("https://a:b:c/")', False),
        ('isURL("https://a[::1]/")', False),
        ('isURL("https://[::1/")', False),
        ('isURL("https://[::1]x/")', False),
        ('isURL("https://[1.2.3.4]/")', False),
        ('isURL("https://[::1%25]/")', False),
        ('isURL("https://us[er@example.com/")', False),
        ('isURL("https://exa mple.com/")', False),
        ('isURL("https://%41.com/")', False),
        ('isURL("https://example.com/%zz")', False),
        ('isURL("https://example.com#fragment")', False),
        (r'isURL("/\n")', False),
        ('isURL("")', False),
        ('isURL(":")', False),
        ('isURL("1a://x")', False),
    ],
)
def test_a_url_has_its_parts(text: str, value: object) -> None:
    """As Go's `net/url` takes it apart: strict where the host begins, patient in the query."""
    assert evaluate(text) == value


def test_a_text_that_is_no_url_has_no_parts() -> None:
    """The message does not show it: it could be a token."""
    with pytest.raises(CelError) as caught:
        evaluate('url("hunter2").getHost()')
    assert "hunter2" not in str(caught.value).replace('url("hunter2")', "")


def test_a_query_of_very_many_parameters_is_not_read() -> None:
    """Go has that limit, too."""
    assert url.query(Budget(10**9), url.parse(Budget(10**9), "/?" + "&" * url.PARAMETERS)) == {}
    assert url.query(Budget(10**9), url.parse(Budget(10**9), "/?a=1" + "&" * 99)) == {"a": ["1"]}


@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_url_that_was_read_is_read_again(text: str) -> None:
    """What has a scheme is written out as a URL with the same text, unless a fragment follows the host."""
    try:
        found = url.parse(Budget(), text)
    except CelError:
        # Two slashes are a path for the first of Go's two looks, and a host for the second.
        assert not url.is_url(Budget(), text) or "#" in text or text.startswith("//")
        return
    assert url.is_url(Budget(), text)
    if found.scheme and "#" not in found.text and "\ufffd" not in found.text:
        assert url.parse(Budget(), found.text) == found
