"""The language itself: an expression has the same outcome in the real API server and in ours, value by value.

A policy holds all expressions; the one that an object's name asks for is the message with which the object is refused.
"""

import re
from collections.abc import Mapping, Sequence

import pytest

from policy import cel
from tests.realserver.access import Access
from tests.support.api import Api, Manifest, eventually, ref
from tests.support.names import fresh

SAME = r"""
    string(1000000.0)
    string(123456789.0)
    string(100000.0)
    string(0.00001)
    string(0.0001)
    string(1e21)
    string(1e20)
    string(-0.0)
    string(1.0)
    string(double('inf'))
    string(double('NaN'))
    string(1.5e300)
    string(duration('1h0.000000001s'))
    string(duration('-1.5s'))
    string(duration('1500ms').getMilliseconds())
    string(duration('-90s').getMinutes())
    string(duration('1h').getSeconds())
    string(int(duration('1s')))
    string(duration(5))
    string(timestamp(5))
    string(timestamp('2020-01-01T00:00:00.123456789012Z'))
    string(timestamp('2020-01-01T00:00:00Z').getMilliseconds())
    string(timestamp('2020-01-01T23:00:00Z').getDayOfYear('Europe/Berlin'))
    string(timestamp('2020-01-01T23:00:00Z').getHours('+1:00'))
    string(timestamp('2020-01-01T23:00:00Z').getHours('01:00'))
    string(timestamp('2020-01-01T23:00:00Z').getHours('25:00'))
    string(timestamp('2020-01-01T23:00:00Z').getHours(''))
    string(timestamp(-62135596800))
    string(int('+5'))
    string(int('0x5'))
    string(int('-0'))
    string(int(' 5'))
    string(int('1_0'))
    string(uint('+5'))
    string(double('1_0'))
    string(double('0x1p-2'))
    string(double('1e400'))
    string(double('.5'))
    string(double('5.'))
    string(double('infinity'))
    string(int(1.9))
    string(int(-9223372036854775808.0))
    string(uint(-0.5))
    string(uint(1.9))
    string(bool('yes'))
    string(1 == 1)
    string(dyn(1) == 1.0)
    string(dyn(1u) == 1)
    string(dyn(true) == 1)
    string(dyn(9007199254740993) == 9007199254740992.0)
    string(dyn(9223372036854775807) == 9223372036854775808.0)
    string(1 < 1.5)
    string(1u < 2)
    string(dyn(1) in [1.0, 2.0])
    string(dyn(9007199254740993) in [9007199254740992.0])
    string({1: 'a'}[dyn(1.0)])
    string({1: 'a'}[dyn(1u)])
    string([1,2][dyn(1.0)])
    string([1,2][dyn(1u)])
    string([1,2][5])
    string(dyn([1,2]) == dyn([1.0, 2.0]))
    string(dyn({'a': 1}) == dyn({'a': 1.0}))
    string(0.0/0.0 == 0.0/0.0)
    string([0.0/0.0] == [0.0/0.0])
    string(0.0/0.0 < 1.0)
    string(1.0/0.0)
    string(1.0 / -0.0)
    string(-7 / 2)
    string(-7 % 2)
    string(5 % -3)
    string(1/0)
    string(9223372036854775807 + 1)
    string(-(-9223372036854775808))
    string(0u - 1u)
    string('a' < 'B')
    string('é' < 'z')
    string('\U0001F431' < '\uFFFF')
    string(b'\xff' < b'\x00')
    string(true < false)
    string(size('\U0001F431'))
    string('abc'.contains(''))
    'a' + string(b'\xff')
    string(bytes('é') == b'é')
    string([1, 'a'].size())
    string([1, dyn('a')].size())
    string({'a': 1, 'b': 'x'}.size())
    string(type(1) == int)
    string(type([]) == list)
    string(type(null) == null_type)
    string(type(timestamp(0)) == google.protobuf.Timestamp)
    string(type(optional.of(1)) == optional_type)
    string(null == null)
    string('a' == null)
    string(timestamp(0) == null)
    string(dyn('a') == null)
    string([1] == ['a'])
    string(1 == 'a')
    string(dyn(1) == 'a')
    string(true ? 1 : 2)
    true ? 'a' : 1
    string([1,2,3].exists_one(x, x > 2))
    string([1,2,3].existsOne(x, x > 2))
    string([1,2,3].existsOne(i, x, x > 2))
    string([1,2,3].all(i, x, x > i))
    string([1,2,3].transformList(i, x, x * i).size())
    string({'a': 1}.transformMap(k, v, v + 1)['a'])
    string({'a': 1}.transformMapEntry(k, v, {k + k: v})['aa'])
    string({'a': 1}.transformMapEntry(k, v, {'x': v}).size())
    string({'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v}).size())
    string({'a': 1}.map(k, k).size())
    string([1,2].map(x, x > 1, x * 2)[0])
    string(optional.of(1).orValue(2))
    string(optional.none().orValue(2))
    string({'a': {'b': 1}}.?a.?b.orValue(5))
    string({'a': {'b': 1}}.?a.b.orValue(5))
    string({'a': {'b': 1}}[?'a'].hasValue())
    string([1][?3].hasValue())
    string([1].first().value())
    string([].first().hasValue())
    string([1,2].last().value())
    string(optional.ofNonZeroValue('').hasValue())
    string(optional.of(1).optMap(x, x + 1).value())
    string(optional.of(1).optFlatMap(x, optional.of(x + 1)).value())
    string(optional.unwrap([optional.of(1), optional.none()]).size())
    string([optional.of(1), optional.none()].unwrapOpt().size())
    string([?optional.of(1)].size())
    string({?'a': optional.of(1)}.size())
    string(has({'a': 1}.a))
    string(has({'a': 1}.b))
    string(has(dyn({'a': null}).a))
    string(dyn({'a': 1}).b == 1 || true)
    string(!(1/0 == 1 && false))
    string([0, 1].exists(x, 1/x == 1))
    string([0, 2].exists(x, 1/x == 1))
    string([0, 1].all(x, 1/x == 5))
    string('abc'.matches('^a.c$'))
    string('abc'.matches('('))
    string(matches('abc', 'b'))
    string('a\nb'.matches('a.b'))
    string('a\nb'.matches('^b'))
    string({1: 1, 1u: 2}.size())
    string({dyn(1): 1, 1u: 2}.size())
    string(duration('1d'))
    string(timestamp('2020-01-01'))
    string(true || duration('x') == duration('1s'))
    string(dyn('x').size())
    string(dyn(1).size())
    string(- - 1)
    string(--1)
    string(!!true)
    string(-[1].size())
    string(1.size())
    string(timestamp(size('abcde')))
    string([0.0/0.0].exists(x, x == x))
    string(double(' 1'))
    string(double('1__0'))
    string(double('0x_1p0'))
    string(double('+nan'))
    string(double('1e-400'))
    string(uint('00005'))
    string(int('9223372036854775808'))
    string(dyn(1.0) < 2u)
    string(dyn('a') < 1)
    string(dyn(1) < true)
    string(dyn(timestamp(0)) < timestamp(1))
    string({'a': 1} == {'a': 1, 'b': 2})
    string({'a': dyn(1)}['a'] == 1)
    string([[1], [2]].exists(x, x[0] == 2))
    string([1, 2, 3].map(x, x * 2) == [2, 4, 6])
    string({'a': 1, 'b': 2}.exists(k, k == 'b'))
    string({'a': 1, 'b': 2}.all(k, v, v > 0 && k != ''))
    string({'a': 1}.filter(k, k == 'a')[0])
    string([1,2,3].filter(x, x > 1).size())
    string('abc'.size() + size('def'))
    string(has({'a': {'b': 1}}.a.b))
    string(has({'a': {'b': 1}}.x.b))
    string(dyn(1).a)
    string(dyn([1]).a)
    string(dyn('a')[0])
    string(dyn(null).a)
    string(has(dyn(null).a))
    string(dyn({'a': 1})['a'])
    string(dyn({'a': 1})[dyn(true)])
    string(dyn([1])[dyn(true)])
    string(dyn([1])[-1])
    string(1 in {1: 2})
    string(dyn(1.0) in {1: 2})
    string('a' in ['a', 'b'])
    string(dyn(null) in [1])
    string(dyn(1) in dyn('a'))
    string(!dyn('a'))
    string(dyn('a') || true)
    string(dyn('a') && true)
    string(dyn(1) ? 1 : 2)
    string([1, 2].exists(x, dyn('a')))
    string([true, dyn(1) == 1].all(x, x))
    string(timestamp('2020-01-01T00:00:00Z') + duration('1h') - timestamp('2020-01-01T00:00:00Z'))
    string(duration('1h') - duration('30m'))
    string(duration('1h') > duration('59m'))
    string(timestamp('2020-02-29T12:34:56.789Z').getDayOfWeek())
    string(timestamp('2020-02-29T12:34:56.789Z').getDate())
    string(timestamp('2020-02-29T12:34:56.789Z').getMonth())
    string(timestamp('2020-02-29T12:34:56.789Z').getFullYear('America/New_York'))
    string(timestamp('2020-02-29T12:34:56.789Z').getHours('Nowhere'))
    string(timestamp('2020-02-29T23:59:60Z'))
    string(timestamp('2020-02-29T24:00:00Z'))
    string(timestamp('2020-02-30T00:00:00Z'))
    string(timestamp('2020-02-29t00:00:00z'))
    string(timestamp('2020-02-29T00:00:00,5Z'))
    string(timestamp('2020-02-29T0:00:00Z'))
    string(duration('1.5h'))
    string(duration('+1s'))
    string(duration('1h30'))
    string(duration('1µs'))
    string(duration('.s'))
    string(duration('3000000h'))
    string(duration(''))
    string(b'abc' + b'def' == b'abcdef')
    string(size(b'abc'))
    string(bytes('a') < bytes('b'))
    string(r'\n'.size())
    string('a b'.size())
    string('\x41\u0042\103')
    string("\"'")
    string(0x10)
    string(-0x10)
    string(1e3)
    string(.5)
    string(10 % 3 * 2 - 1)
    string(1 + 2 == 3 && 4 > 3 || false)
    string(true ? false ? 1 : 2 : 3)
    string(true ? (false ? 1 : 2) : 3)
    string(1 == 1 == true)
    string(1 < 2 < 3)
    string(optional.none().value())
    string(optional.of(optional.none()).hasValue())
    string(optional.of(1) == optional.of(1))
    string(optional.of(1) == optional.of(1.0))
    string(dyn(optional.of(1)) == optional.none())
    string({'a': 1}.?b.or(optional.of(3)).value())
    string([?{'a': 1}.?a, ?{'a': 1}.?b].size())
    string({?'x': {'a': 1}.?b}.size())
    string(dyn({'a': {'b': 2}}).?a.b.value())
    string(dyn(1).?a.hasValue())
    string([1,2][?1].value())
    string([1,2][?-1].hasValue())
    string(dyn([1,2])[?'a'].hasValue())
    string(type(1) == type(2))
    string(type(1u) == uint)
    string(type(dyn('a')) == string)
    string(type(type(1)) == type)
    string(type({}) == map)
    string(type(duration('1s')) == google.protobuf.Duration)
    string(int == int)
    string(object.metadata.name == 'x')
    string(object.?metadata.?labels.?a.orValue('none'))
    string(has(object.metadata.labels))
    string(object.metadata.?annotations.hasValue())
    string(object.data == null)
    string(has(object.data))
    string(object.metadata.all(k, k != ''))
    string(has(dyn([1]).a))
    string(has(dyn('a').a))
    string(has(dyn(1).a))
    string(has(dyn(1u).a))
    string(has(dyn(timestamp(0)).a))
    string(has(dyn(optional.of(1)).a))
    string(dyn([1]).?a.hasValue())
    string(dyn('a').?a.hasValue())
    string(dyn(null).?a.hasValue())
    string(dyn('a')[?0].hasValue())
    string(dyn(1)[?0].hasValue())
    string(dyn(null)[?'a'].hasValue())
    string(dyn({'a': [1]}).?a.b.hasValue())
    string(dyn({'a': [1]}).?a[0].hasValue())
    string(dyn({'a': [1]}).?a[5].hasValue())
    string(dyn({'a': 'x'}).?a[0].hasValue())
    string(optional.of(1).a.hasValue())
    string(has(optional.of(dyn(1)).a))
    string({'a': 1}[?dyn(1.5)].hasValue())
    string(dyn([1,2])[?dyn(1.5)].hasValue())
    string(dyn([1,2])[?dyn(true)].hasValue())
    string(dyn([1,2])[dyn(1.5)])
    string(dyn(b'a') in {'a': 1})
    string(dyn(null) in {'a': 1})
    string(dyn(1) in 'abc')
    string(dyn([1]) in {'a': 1})
    string(dyn(1.5) in {1: 1})
    string(timestamp('2020-02-29T1:00:00.5+01:00').getHours())
    string(timestamp('2020-02-29T01:00:00-24:00').getDate())
    string(timestamp('2020-02-29T25:00:00Z'))
    string(timestamp('2020-02-29T00:00:00.Z'))
    string(timestamp('2020-2-29T00:00:00Z'))
    string(timestamp('2020-02-29T00:0:00Z'))
    string(timestamp('20-02-29T00:00:00Z'))
    string(timestamp('2020-02-29T00:00:00+1:00'))
    string(timestamp('2020-02-29T00:00:00+01'))
    string(timestamp('2020-02-29T00:00:00+25:00'))
    string(timestamp('2020-02-29T00:00:00+00:61'))
    string(timestamp('2020-02-29T00:00:00-00:60').getMinutes())
    string(timestamp('0000-01-01T00:00:00Z'))
    string(timestamp('9999-12-31T23:59:59-01:00'))
    string(timestamp(0) == timestamp('1970-01-01T01:00:00+01:00'))
"""
"""Texts of strings, one a line; `object` is a ConfigMap with no more than a name."""

DIFFERENCES = {
    "string(duration(size('abcde')))": "an int is let pass there, and fails when it is evaluated",
    "string(duration('100000000s1ns'))": "a duration is written through a double there, and loses nanoseconds",
    "string(timestamp('2020-01-01T00:00:00.5+01:00'))": "a timestamp keeps its offset there; here it is UTC",
    "string(timestamp('2020-02-29T00:00:00+24:00'))": "the same",
    "string(timestamp('2020-02-29T00:00:00+23:60'))": "the same",
    "cel.bind(x, 'a', x + x)": "`cel.bind` is not there",
    "string({'a-b': 1}.`a-b`)": "quoted fields are not there",
    "string({1: 1, 1: 2}.size())": "a key that comes twice is an error in the specification",
    "string({1.0: 1}.size())": "a double is no key in the specification",
    "string({null: 1}.size())": "null is no key in the specification",
    "string({dyn(1.0): 1}.size())": "a double is no key in the specification",
    "string({dyn([1]): 1}.size())": "a list is no key in the specification",
    "string(dyn({'a': 1}).?a.b.hasValue())": "a field of what is no map is an error in the specification",
    "string(dyn({'a': 1}).?a.b.c.hasValue())": "the same",
    "string({'a': 1}[?dyn(b'a')].hasValue())": "it finds out when it compiles that a literal is no key",
    "string({1: 1}[?dyn(null)].hasValue())": "the same",
    "string({'a': 1}[dyn(b'a')])": "the same",
    "string(dyn([1,2])[?dyn(null)].hasValue())": "the same",
}
"""Where the outcome is another one, and why that is so."""

TEXTS = [line.strip() for line in SAME.splitlines() if line.strip()]
REFUSED, FAILED = "<refused>", "<failed>"
OBJECT = {"metadata": {"name": "expression"}}


@pytest.fixture(scope="module")
def theirs(realserver: Access) -> Mapping[str, str]:
    """What the API server makes of each expression."""
    with Api(realserver.url, realserver.ca, realserver.token) as api:
        return _asked(api, [*TEXTS, *DIFFERENCES])


def _asked(api: Api, texts: Sequence[str]) -> dict[str, str]:
    causes = api.create(_policy(fresh("all"), texts), dryRun="All").expect(422).causes
    refused = {int(place) for cause in causes for place in re.findall(r"validations\[(\d+)\]", cause["field"])}
    rest = [text for place, text in enumerate(texts) if place not in refused]
    policy = _policy(fresh("cel"), rest)
    name = policy["metadata"]["name"]
    binding = ref("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", name)
    binding["spec"] = {"policyName": name, "validationActions": ["Deny"]}
    api.create(policy).expect(201)
    api.create(binding).expect(201)
    try:
        eventually(lambda: _answer(api, name, 0))  # a policy holds a moment after it was made
        outcomes = {text: _answer(api, name, place) for place, text in enumerate(rest)}
    finally:
        api.delete(binding).expect(200)
        api.delete(policy).expect(200)
    return outcomes | {texts[place]: REFUSED for place in refused}


def _policy(name: str, texts: Sequence[str]) -> Manifest:
    policy = ref("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    chosen = f"object.metadata.name.startsWith('{name}.')"
    policy["spec"] = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "ours", "expression": chosen}],
        "validations": [
            {"expression": f"object.metadata.name != '{name}.{place}'", "messageExpression": f"'[' + ({text}) + ']'"}
            for place, text in enumerate(texts)
        ],
    }
    return policy


def _answer(api: Api, name: str, place: int) -> str:
    message = api.create(ref("v1", "ConfigMap", f"{name}.{place}", "default"), dryRun="All").expect(422).message
    found = re.search(r"denied request: \[(.*)\]$", message, re.DOTALL)
    return found[1] if found else FAILED


def _ours(text: str) -> str:
    try:
        program = cel.compile(text, {"object": "dyn"})
    except cel.CelError:
        return REFUSED
    if str(program.result_type) != "string":
        return REFUSED
    try:
        return str(program.evaluate({"object": OBJECT}))
    except cel.CelError:
        return FAILED


@pytest.mark.parametrize("text", TEXTS)
def test_an_expression_has_the_outcome_of_the_api_server(theirs: Mapping[str, str], text: str) -> None:
    """The value as text, an error when it is evaluated, or an error when it is compiled."""
    assert _ours(text) == theirs[text]


@pytest.mark.parametrize("text", DIFFERENCES)
def test_a_difference_is_one_still(theirs: Mapping[str, str], text: str) -> None:
    """So that the list of differences says what is."""
    assert _ours(text) != theirs[text]
