"""The policy that lets nobody but Copyhold and the accounts it names write what a parent holds.

An object is *held* when it has the label `copyhold.dev/protected` and an annotation `target.copyhold.dev/<uid>` that names its
own kind and name. Other operators copy labels and annotations to what they derive (a Service's go to its EndpointSlices), and
those copies name something else, so they bind nobody.

| Request | Passes |
| --- | --- |
| any, by a system component, or with the extra of our manager | yes, unless it holds an object that bears forged marks |
| any, in a terminating namespace | yes |
| makes a free object held | no |
| an update or deletion of a held object by a ServiceAccount that its old marks name | yes |
| an update of a held object that changes finalizers, owner references or status only | yes |
| the deletion of a held object that is terminating (a kubelet's last word about a Pod) | yes |
| an update of a subresource that leaves our marks | yes |
| anything else to a held object | no |

Caveats: a label selector is all that the server offers to preselect objects, so marks may be forged on an object without the
label. They mean nothing until a parent adopts the object, and that adoption is refused until they are gone. An owner reference
to something that does not exist makes the garbage collector delete a held object, and the eviction of a Pod is no deletion to
the server; both are left open, and the manager makes the object anew.
"""

from apis.meta import ACCOUNT_PREFIX, GROUP, PARENT_EXTRA, PROTECTED, TARGET_PREFIX
from manager.admission.policies import IS_MANAGER, NOT_SYSTEM, Policy, Rule, Validation

NAME = "copyhold-protection"
MANAGERS = f"{GROUP}/"
"""Field managers of parents begin so."""


def protection() -> Policy:
    """The policy over all kinds. Its text depends on nothing, so any replica writes the same one."""
    return Policy(
        name=NAME,
        label=PROTECTED,
        rules=(
            Rule(("*",), ("*",), ("CREATE", "UPDATE", "DELETE")),
            # Many kinds let metadata be changed through `status`: without this rule that would take our marks off.
            Rule(("*",), ("*/*",), ("UPDATE",)),
        ),
        conditions={
            "not-a-system-component": NOT_SYSTEM,
            # Every apply of ours comes by here: it must be out before a variable is computed. Adoption, which is rare, is not.
            "not-the-manager": f"!{IS_MANAGER} || (request.operation == 'UPDATE' && !{_labelled('oldObject')})",
        },
        variables=_VARIABLES,
        validations=(_BECOMING, _ADOPTING, _WRITING, _MARKING),
    )


def _labelled(thing: str) -> str:
    return f"('{PROTECTED}' in {thing}.metadata.?labels.orValue({{}}))"


def _names_itself(marks: str) -> str:
    return f"k.startsWith('{TARGET_PREFIX}') && {marks}[k] == variables.self"


def _held(thing: str, marks: str) -> str:
    return f"{thing} != null && {_labelled(thing)} && {marks}.exists(k, {_names_itself(marks)})"


def _same(field: str) -> str:
    return f"object.metadata.?{field}.orValue({{}}) == oldObject.metadata.?{field}.orValue({{}})"


def _same_marks(field: str) -> str:
    new, old = f"object.metadata.?{field}.orValue({{}})", f"oldObject.metadata.?{field}.orValue({{}})"
    return (
        f"{new}.all(k, !k.contains('{GROUP}/') || (k in {old} && {new}[k] == {old}[k]))"
        f" && {old}.all(k, !k.contains('{GROUP}/') || k in {new})"
    )


def _our_entries(thing: str) -> str:
    return f"{thing}.metadata.?managedFields.orValue([]).filter(e, e.?manager.orValue('').startsWith('{MANAGERS}'))"


_BODY = "['metadata', 'status']"

_VARIABLES = {
    "self": "request.kind.kind + '.' + request.kind.group + '/' + (object != null ? object : oldObject).metadata.name",
    "marks": "object == null ? {} : object.metadata.?annotations.orValue({})",
    "oldMarks": "oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})",
    "held": _held("object", "variables.marks"),
    "wasHeld": _held("oldObject", "variables.oldMarks"),
    "subresource": "request.?subResource.orValue('')",
    # matchConditions never see namespaceObject: what is on its way out with its namespace must pass here.
    "ending": "namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)",
    "parent": f"{IS_MANAGER} ? request.userInfo.extra['{PARENT_EXTRA}'][0] : ''",
    # The annotation of an account counts together with the target annotation of the same parent: the latter cannot be forged.
    "named": (
        "request.userInfo.username.startsWith('system:serviceaccount:') && variables.oldMarks.exists(k, "
        f"{_names_itself('variables.oldMarks')} && variables.oldMarks[?('{ACCOUNT_PREFIX}' + "
        f"k.substring({len(TARGET_PREFIX)}))] == optional.of(request.userInfo.username))"
    ),
    "entriesKept": f"{_our_entries('object')} == {_our_entries('oldObject')}",
    "bodyKept": (
        f"object.all(f, f in {_BODY} || (f in oldObject && object[f] == oldObject[f]))"
        f" && oldObject.all(f, f in {_BODY} || f in object)"
    ),
    "untouched": f"{_same('labels')} && {_same('annotations')} && variables.entriesKept && variables.bodyKept",
    "marksKept": f"{_same_marks('labels')} && {_same_marks('annotations')} && variables.entriesKept",
    "forged": f"variables.marks.filter(k, {_names_itself('variables.marks')} && k != '{TARGET_PREFIX}' + variables.parent)",
    "place": "has(request.namespace) && request.namespace != '' ? ' in namespace ' + request.namespace : ''",
    "what": "request.kind.kind + ' ' + (object != null ? object : oldObject).metadata.name + variables.place",
    # In the order of managedFields: that of a map differs from one evaluation to the next.
    "holders": (
        f"{_our_entries('oldObject')}.filter(e, variables.oldMarks[?'{TARGET_PREFIX}'"
        " + e.manager.substring(e.manager.lastIndexOf('/') + 1)] == optional.of(variables.self))"
        f".map(e, e.manager.substring({len(MANAGERS)}))"
    ),
    "holder": (
        "variables.holders.size() > 0 ? variables.holders.join(', ')"
        f" : variables.oldMarks.filter(k, {_names_itself('variables.oldMarks')})[0].substring({len(TARGET_PREFIX)})"
    ),
    "remedy": (
        "'change or delete that parent, or free the object with: copyhold release ' + request.kind.kind + ' '"
        " + (object != null ? object : oldObject).metadata.name"
        " + (variables.place == '' ? '' : ' --namespace ' + request.namespace)"
    ),
}

_BECOMING = Validation(
    expression="variables.ending || !variables.held || variables.wasHeld || variables.parent != ''",
    message="only Copyhold's manager makes an object held",
    explain=(
        "variables.what + ' bears the marks of an object that Copyhold holds, and only its manager sets them: leave out the '"
        f" + 'annotations {TARGET_PREFIX}* and the label {PROTECTED}'"
    ),
)
_ADOPTING = Validation(
    expression=(
        "variables.ending || !variables.held || variables.wasHeld || variables.parent == '' || variables.forged.size() == 0"
    ),
    message="marks of other parents stand on an object that nobody holds",
    explain=(
        "variables.what + ' is held by nobody and yet bears the marks of other parents, which somebody forged: '"
        " + 'remove the annotation ' + variables.forged[0] + ', then it can be adopted'"
    ),
)
_WRITING = Validation(
    expression=(
        "variables.ending || !variables.wasHeld || variables.named || variables.subresource != ''"
        " || (object == null ? has(oldObject.metadata.deletionTimestamp) : variables.untouched)"
    ),
    message="the object is held by a parent: change that parent, or free the object with: copyhold release",
    explain="variables.what + ' is held by ' + variables.holder + ': ' + variables.remedy",
)
_MARKING = Validation(
    expression="variables.ending || !variables.wasHeld || variables.named || variables.subresource == '' || variables.marksKept",
    message="marks and managedFields entries of Copyhold cannot be changed through a subresource",
    explain=(
        "variables.what + ' is held by ' + variables.holder + ', whose marks cannot be changed through its '"
        " + variables.subresource + ': ' + variables.remedy"
    ),
)
