"""GlobalResourcePermitTemplate: what permits of many namespaces may give."""

from typing import Annotated

from pydantic import Field

from apis.copyhold import VERSION
from apis.copyhold.globaltenantresource import Account
from apis.copyhold.labels import LabelSelector
from apis.copyhold.permittemplate import COLUMNS, PermitTemplateSpec, PermitTemplateStatus
from apis.kind import Kind
from apis.meta import GROUP
from apis.rule import Ruled


class GlobalResourcePermitTemplateSpec(PermitTemplateSpec):
    """What a permit gives, for how long, and who approves it."""

    impersonation: Account | None = None
    """The ServiceAccount as which everything is read, tried and applied. Omitted: the configured default."""
    namespace_selectors: Annotated[tuple[LabelSelector, ...], Field(min_length=1, max_length=32)] | None = None
    """In which namespaces permits may name the template: where one of the selectors matches. Omitted: in all."""


class GlobalResourcePermitTemplateStatus(PermitTemplateStatus):
    """Whether, and where, permits can be made from the template."""

    namespaces: Annotated[tuple[str, ...], Field(json_schema_extra={"x-kubernetes-list-type": "set"})] = ()
    """The names of the namespaces where permits may name it, sorted; `*` for all. Empty while the template is not Ready."""


class GlobalResourcePermitTemplate(Ruled):
    """What permits in the selected namespaces may ask for."""

    spec: GlobalResourcePermitTemplateSpec
    """What a permit gives, for how long, and who approves it."""
    status: GlobalResourcePermitTemplateStatus | None = None
    """Whether, and where, permits can be made from the template."""


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="GlobalResourcePermitTemplate",
    plural="globalresourcepermittemplates",
    singular="globalresourcepermittemplate",
    short_names=("grpt",),
    namespaced=False,
    model=GlobalResourcePermitTemplate,
    columns=COLUMNS,
)
