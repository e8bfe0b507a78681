"""Hypothesis strategies: specs that are right, and JSON that is anything."""

from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

_NAMES = st.from_regex(r"\A[a-z]([-a-z0-9]{0,8}[a-z0-9])?\Z")
_LABELS = st.dictionaries(_NAMES, _NAMES | st.just(""), max_size=2)


def _some(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


_EXPRESSIONS = st.one_of(
    _some({"key": _NAMES, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(_NAMES, min_size=1, max_size=2)}),
    _some({"key": _NAMES, "operator": st.sampled_from(["Exists", "DoesNotExist"])}, values=st.just([])),
)
SELECTORS = _some({}, matchLabels=_LABELS, matchExpressions=st.lists(_EXPRESSIONS, max_size=2))
_REFERENCE = {"apiVersion": st.sampled_from(["v1", "apps/v1"]), "kind": st.sampled_from(["Secret", "Deployment"])}
_REFERENCES = _some(_REFERENCE, namespace=_NAMES, name=_NAMES, optional=st.booleans()) | _some(_REFERENCE, selector=SELECTORS)
_CONTEXTS = st.lists(_REFERENCES, max_size=3).map(
    lambda references: {"resources": [reference | {"index": f"i{at}"} for at, reference in enumerate(references)]}
)
_TARGETS = st.builds(
    lambda name, rest: (
        {key: value for key, value in rest.items() if key not in ("api_version", "apiVersion", "kind", "metadata")}
        | {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    ),
    _NAMES,
    st.dictionaries(st.text(max_size=5), JSON, max_size=2),
)
_POLICIES = _some(
    {},
    creation=st.sampled_from(["Owner", "Merge"]),
    protect=st.booleans(),
    force=st.booleans(),
    deletion=st.sampled_from(["Remove", "Orphan"]),
    condition=st.sampled_from(["object == null", "true"]),
)
_SOURCES = st.one_of(
    st.fixed_dictionaries({"targets": st.lists(_TARGETS, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"template": st.text(max_size=20).filter(str.strip)}),
    st.fixed_dictionaries({"namespacedItems": st.lists(_REFERENCES, min_size=1, max_size=2)}),
)
_GROUPS = st.builds(
    lambda source, rest: source | rest,
    _SOURCES,
    _some(
        {},
        policy=_POLICIES,
        namespaceSelector=SELECTORS,
        context=_CONTEXTS,
        additionalMetadata=_some({}, labels=_LABELS, annotations=_LABELS),
    ),
)


def specs() -> st.SearchStrategy[dict[str, Any]]:
    """Specs of a GlobalTenantResource in scope Namespace, which has every field."""
    return _some(
        {"resources": st.lists(_GROUPS, min_size=1, max_size=3)},
        scope=st.just("Namespace"),
        tenantSelector=SELECTORS,
        serviceAccount=st.fixed_dictionaries({"name": _NAMES, "namespace": _NAMES}),
        dependsOn=st.lists(_NAMES, max_size=3, unique=True).map(lambda names: [{"name": name} for name in names]),
        resyncPeriod=st.sampled_from(["0", "0s", "10m", "1h30m", "1.5h"]),
        cordoned=st.booleans(),
    )
