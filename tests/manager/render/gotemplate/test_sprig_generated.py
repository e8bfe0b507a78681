"""Texts by chance in the small languages that sprig's functions read: the same in Go and here."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.gotemplate import Case, Go
from tests.support.sprigrows import executed

_RUN = settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def _pieces(*pieces: str, most: int = 8) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


def _same(go: Go, template: str, **data: Any) -> None:
    case = Case(template, data, plain=False)
    assert executed(case) == go.outcome(case)


WORDS = _pieces(*"aAbBcD12 -_.!\t$", *"日ßǅéÉİ\u0085Ⅷ٣ªﬁΐΣ", most=12)
WORDED = (
    *("camelcase", "snakecase", "kebabcase", "swapcase", "title", "untitle", "upper", "lower", "nospace", "initials", "trim"),
    *('trimAll "aA_ "', 'splitList "a"', 'splitList ""', "quote", "squote", "toJson", "sha256sum", "indent 2"),
)
COUNTED = (
    "wrap %d",
    'wrapWith %d "|"',
    "abbrev %d",
    "abbrevboth 2 %d",
    "abbrevboth 6 %d",
    "trunc %d",
    "substr 2 %d",
    "substr %d 5",
)


@pytest.mark.slow
@_RUN
@given(WORDS, st.sampled_from(WORDED), st.sampled_from(COUNTED), st.integers(-14, 14))
def test_words(go: Go, text: str, worded: str, counted: str, count: int) -> None:
    """Letters of all cases, connectors, spaces, and cuts within characters."""
    _same(go, f'{{{{ printf "%q" ({worded} .s) }}}} {{{{ printf "%q" ({counted % count} .s) }}}}', s=text)


NUMERALS = st.tuples(
    st.sampled_from(("", "", "0x", "0o", "0b", "0", "-0x", "1e", "0x1p", "inf", "nan", "Infinity", "-", "1_0")),
    _pieces(*"0123456789", *"-+._eExXoObBpPaAfFinNty ", most=6),
).map("".join)
NUMBERS = st.sampled_from(
    (
        *(0, 1, -1, 2, 7, -5, 10**18, 2**63 - 1, -(2**63)),
        *(0.1, 0.2, -0.5, 1.5, 2.5, 1e21, 1e-7, 1e300, 123456.789),
        "3",
        "0.1",
        "x",
    )
)
ARITHMETIC = (
    "add",
    "mul",
    "max",
    "min",
    "addf",
    "subf",
    "mulf",
    "divf",
    "maxf",
    "minf",
    "sub",
    "div",
    "mod",
    "round",
    "floor",
    "ceil",
)


@pytest.mark.slow
@_RUN
@given(NUMERALS, NUMBERS, NUMBERS, st.sampled_from(ARITHMETIC), st.integers(-3, 6))
def test_numbers(go: Go, text: str, one: Any, other: Any, name: str, places: int) -> None:
    """Literals in every base, and arithmetic at the ends of what fits."""
    _same(go, "{{ int64 .s }} {{ int .s }} {{ float64 .s }} {{ atoi .s }} {{ toDecimal .s }} {{ duration .s }}", s=text)
    arguments = {"round": f".a {places}", "floor": ".a", "ceil": ".a"}.get(name, ".a .b")
    _same(go, f"{{{{ {name} {arguments} }}}}", a=one, b=other)


NUMERIC = st.lists(st.sampled_from(("0", "0", "1", "1", "2", "3", "10", "x")), min_size=1, max_size=3).map(".".join)
TAIL = st.sampled_from(
    ("", "", "", "-alpha", "-alpha.1", "-rc.1", "-1", "-01", "-a.b.10", "-a.b.9", "--", "+b.5", " ", ".4", "-rc+x")
)
VERSIONS = st.tuples(st.sampled_from(("", "", "", "v")), NUMERIC, TAIL).map("".join)
OPERATORS = st.sampled_from(("", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", ">= "))
CONSTRAINTS = st.lists(
    st.tuples(OPERATORS, VERSIONS, st.sampled_from(("", " ", ", ", "  ", ",", "||", " || ", " - "))).map("".join), max_size=3
).map("".join)


@pytest.mark.slow
@_RUN
@given(VERSIONS, CONSTRAINTS)
def test_versions(go: Go, version: str, constraint: str) -> None:
    """Constraints with wildcards, ranges and alternatives; pre-releases."""
    _same(go, "{{ semverCompare .c .v }}", c=constraint, v=version)
    _same(go, "{{ with semver .v }}{{ . }} {{ .Major }} {{ .Patch }} {{ .Prerelease }} {{ .Original }}{{ end }}", v=version)


ADDRESS = (
    *(
        "http",
        "https",
        "mailto",
        "HTTP",
        "://",
        ":",
        "/",
        "//",
        "?",
        "#",
        "@",
        "user",
        "us%20er",
        "%zz",
        "%",
        "%41",
        "%c3%bc",
        "ü",
    ),
    *("host", "ex.com", ":80", "[::1]", "[fe80::1%25en0]", "[1.2.3.4]", "a b", "a+b", "\\", '"', "<>", "*", "..", "x=1&y=2"),
    *("!", "'", "(", ")", "~", "^", "|", "{}", "[", "]", ";", ","),
)
URLS = st.tuples(st.sampled_from(("", "http://", "x://", "git+ssh://")), _pieces(*ADDRESS, most=6)).map("".join)
PARTS = st.fixed_dictionaries(
    {name: _pieces(*ADDRESS, most=2) for name in ("scheme", "host", "path", "query", "fragment", "userinfo")},
    optional={"opaque": _pieces(*ADDRESS, most=1)},
)


@pytest.mark.slow
@_RUN
@given(URLS, PARTS)
def test_urls(go: Go, url: str, parts: dict[str, str]) -> None:
    """What belongs into no URL, in every part of one. The words about addresses that are none differ."""
    for template, data in (("{{ $u := urlParse .s }}{{ $u }} {{ urlJoin $u }}", {"s": url}), ("{{ urlJoin . }}", parts)):
        case = Case(template, data, plain=False)
        ours, theirs = executed(case), go.outcome(case)
        assert (ours.output, bool(ours.error)) == (theirs.output, bool(theirs.error))


ELEMENTS = (
    *("January", "Jan", "1", "01", "Monday", "Mon", "2", "_2", "02", "__2", "002", "15", "3", "03", "4", "04", "5", "05"),
    *("2006", "06", "PM", "pm", "MST", "Z07", "Z0700", "Z07:00", "Z070000", "Z07:00:00", "-07", "-0700", "-07:00", "-070000"),
    *("-07:00:00", ".0", ".000", ",999", ".999999999", ".00a", " ", "-", "/", "T", ":", ", "),
)
MOMENTS = st.one_of(st.integers(-62135596800, 253402300799), st.integers(0, 2 * 10**9), st.just(0))
ZONES = st.sampled_from(
    ("", "UTC", "Local", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo", "No/Where")
)


@pytest.mark.slow
@_RUN
@given(_pieces(*ELEMENTS, most=10), MOMENTS, ZONES)
def test_dates(go: Go, layout: str, seconds: int, zone: str) -> None:
    """Dates written by a layout, and read by it again."""
    _same(go, "{{ dateInZone .l .s .z }}", l=layout, s=seconds, z=zone)
    _same(go, "{{ mustToDate .l (dateInZone .l .s .z) }}", l=layout, s=seconds, z=zone)


TOKENS = (
    *("a", "b", "(a)", "(b*)", "(?P<n>a+)", ".", "\\w", "[ab]", "^", "$", "\\b", "|", "*", "+", "?", "{2}", "{1,}", "(?:ab)"),
    *("(?i)", "(?s)", "日", "\\pL", "(", ")", "[", "\\", "\\d"),
)


@pytest.mark.slow
@_RUN
@given(
    _pieces(*TOKENS, most=5),
    _pieces(*"aabbAB 12\n日"),
    _pieces("$1", "${1}", "$n", "${n}", "x", "$$", "$", "日", "$0", "${", "}"),
)
def test_patterns(go: Go, pattern: str, text: str, replacement: str) -> None:
    """Patterns, many of which are none, and empty matches."""
    _same(go, "{{ regexFind .p .s }}", p=pattern, s=text)
    _same(go, "{{ mustRegexReplaceAll .p .s .r }}", p=pattern, s=text, r=replacement)
    _same(go, "{{ regexFindAll .p .s -1 | toJson }} {{ regexSplit .p .s 3 | toJson }}", p=pattern, s=text)


@pytest.mark.slow
@_RUN
@given(_pieces(*"ABab01+/=\n\r*", most=14), _pieces(*"ABCZ27=\n*", most=14), _pieces(*"a/./.b ", most=9))
def test_codes_and_paths(go: Go, base64: str, base32: str, path: str) -> None:
    """Padding in wrong places; dots and slashes."""
    _same(go, '{{ printf "%q %q" (b64dec .a) (b32dec .b) }} {{ b64enc .b }} {{ b32enc .a }}', a=base64, b=base32)
    _same(go, "{{ base .p }}|{{ dir .p }}|{{ clean .p }}|{{ ext .p }}|{{ isAbs .p }}", p=path)


LEAVES = st.sampled_from((None, 0, 1, -5, 2**60, "", 'x<>&\u2028\x00\x7f\b\\"/😀', False, True, 1.5, 1e21, 1e20, 1e-7, 5e-324))
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)
MAPS = st.dictionaries(st.sampled_from("abcd"), TREES, max_size=4)


@pytest.mark.slow
@_RUN
@given(MAPS, MAPS, MAPS, st.sampled_from(("merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite")))
def test_maps(go: Go, one: Any, two: Any, three: Any, merge: str) -> None:
    """Merged, as JSON, compared, and what lies deep in them."""
    _same(go, f"{{{{ {merge} .a .b .c | toJson }}}} {{{{ toPrettyJson .a }}}} {{{{ toRawJson .b }}}}", a=one, b=two, c=three)
    _same(go, '{{ deepEqual .a .b }} {{ dig "a" "b" "none" .a | toJson }} {{ . }}', a=one, b=two)
    _same(go, "{{ uniq .l | toJson }} {{ has .x .l }} {{ without .l .x | toJson }} {{ compact .l }}", l=[one, two, three], x=two)


@pytest.mark.slow
@_RUN
@given(_pieces(*'[]{},:" \\', "1", "-", ".5", "e", '"a"', "true", "nul", "\\u12", "\n", most=10))
def test_json(go: Go, text: str) -> None:
    """Texts that are hardly ever JSON. Go looks further into a number or a string that ends too early."""
    case = Case("{{ fromJson .t | toJson }} {{ mustFromJson .t | toRawJson }}", {"t": text}, plain=False)
    ours, theirs = executed(case), go.outcome(case)
    assert (ours.output, bool(ours.error)) == (theirs.output, bool(theirs.error))
