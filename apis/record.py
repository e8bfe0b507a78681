"""What memory holds of one target: enough to take it back without template, context, CEL or discovery."""

from dataclasses import dataclass, field

from apis.intent import Policy
from apis.meta import Key, Ref
from apis.reasons import Reason

SHARED = "*"
"""The unit of a target that several units render: only a look at all of them can tell whether it is still wanted."""


@dataclass(frozen=True, slots=True)
class Record:
    """One target of one parent.

    Times are RFC 3339 in UTC, digests are short hex strings, "" means "not known" or "never".
    """

    ref: Ref
    resource: str  # the plural: taking down needs no discovery
    cluster_scoped: bool
    unit: str  # what rendered it: a namespace, a tenant, "" for scope None, or SHARED
    tenant: str
    policy: Policy = field(default_factory=Policy)  # as of the last success (without condition); decides how it is taken back
    account: str = ""  # "namespace/name" of who last acted on it
    uid: str = ""  # "": no answer has been seen yet
    created: bool = False  # what the server answered: 201, or joined kin
    pending: bool = False  # a request was about to be sent and its answer is not known: settled by proof
    payload: str = ""  # digest of what was applied
    fields: str = ""  # digest of our managedFields entry after that
    seen: str = ""  # where a Conflict waits: digest of payload and resourceVersion on which it was judged
    last_apply: str = ""
    ok: bool = False
    reason: Reason = Reason.WAITING
    message: str = ""
    gone: str = ""  # since when the removed object is absent: read once more before it is forgotten

    @property
    def key(self) -> Key:
        """The identity of the target."""
        return self.ref.key
