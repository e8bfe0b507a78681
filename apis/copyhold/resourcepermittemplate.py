"""ResourcePermitTemplate: what a permit of this namespace may give."""

from apis.copyhold import VERSION
from apis.copyhold.common import ObjectName
from apis.copyhold.permittemplate import COLUMNS, PermitTemplateSpec, PermitTemplateStatus
from apis.kind import Kind
from apis.meta import GROUP
from apis.rule import Ruled


class LocalImpersonation(Ruled):
    """A ServiceAccount in the namespace of the template."""

    name: ObjectName
    """The name of the account."""


class ResourcePermitTemplateSpec(PermitTemplateSpec):
    """What a permit gives, for how long, and who approves it."""

    impersonation: LocalImpersonation | None = None
    """The ServiceAccount, in the same namespace, as which everything is read, tried and applied. Omitted: `default`."""


class ResourcePermitTemplate(Ruled):
    """What permits in its namespace may ask for."""

    spec: ResourcePermitTemplateSpec
    """What a permit gives, for how long, and who approves it."""
    status: PermitTemplateStatus | None = None
    """Whether permits can be made from the template."""


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="ResourcePermitTemplate",
    plural="resourcepermittemplates",
    singular="resourcepermittemplate",
    short_names=("rpt",),
    namespaced=True,
    model=ResourcePermitTemplate,
    columns=COLUMNS,
)
