"""The objects of an expression whose fields are declared: a wrong name, such as `request.object`, is found when it is written.

Source: `BuildRequestType` and `BuildNamespaceType` in
https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/cel/compile.go
"""

from collections.abc import Mapping

from policy.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, ObjectType, Type, list_of, map_of


def variables(fields: Mapping[str, Type]) -> ObjectType:
    """The policy's own variables, as one object."""
    return _structure("variables", **fields)


def _structure(kind: str, /, **fields: Type) -> ObjectType:
    return ObjectType(f"kubernetes.{kind}", fields=fields)


_STRINGS = list_of(STRING)
_MAP = map_of(STRING, STRING)
_KIND = _structure("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _structure("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
REQUEST = _structure(
    "AdmissionRequest",
    kind=_KIND,
    requestKind=_KIND,
    resource=_RESOURCE,
    requestResource=_RESOURCE,
    subResource=STRING,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_structure("UserInfo", username=STRING, uid=STRING, groups=_STRINGS, extra=map_of(STRING, _STRINGS)),
    dryRun=BOOL,
    options=DYN,
)
NAMESPACE = _structure(
    "Namespace",
    metadata=_structure(
        "NamespaceMetadata",
        name=STRING,
        generateName=STRING,
        namespace=STRING,
        labels=_MAP,
        annotations=_MAP,
        UID=STRING,
        creationTimestamp=TIMESTAMP,
        deletionGracePeriodSeconds=INT,
        deletionTimestamp=TIMESTAMP,
        generation=INT,
        resourceVersion=STRING,
        finalizers=_STRINGS,
    ),
    spec=_structure("NamespaceSpec", finalizers=_STRINGS),
    status=_structure(
        "NamespaceStatus",
        conditions=list_of(
            _structure(
                "NamespaceCondition", status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING, reason=STRING
            )
        ),
        phase=STRING,
    ),
)
