"""TargetRecord: the manager's memory of targets that are too many for a status."""

from typing import Annotated

from pydantic import Field, Strict

from apis.copyhold import VERSION
from apis.kind import AGE, Column, Kind
from apis.meta import GROUP
from apis.rule import Ruled

DATA_MAX = 1_048_576
"""Characters of one shard: an API server stores at most 1.5 MiB per object."""

_Count = Annotated[int, Strict(), Field(ge=0)]


class RecordedParent(Ruled):
    """The object whose targets are recorded."""

    group: str = GROUP
    """The group of the parent's kind."""
    kind: str
    """The kind of the parent."""
    namespace: str | None = None
    """The namespace of the parent; empty for cluster-scoped kinds."""
    name: str
    """The name of the parent."""
    uid: str
    """The UID of the parent: a parent of the same name that came later has another."""


# No field may be called `items`: the API server would take the object for a list (specs/apiserver.md, 27).
class TargetRecord(Ruled):
    """One shard of the record of a parent's targets. Only the manager writes it; `copyhold explain` prints it."""

    parent: RecordedParent
    """The object whose targets are recorded."""
    shard: _Count
    """Which shard of the parent this is."""
    count: _Count
    """How many targets are recorded here."""
    digest: Annotated[str, Field(max_length=128)]
    """Digest of the records; the parent's status holds the same one."""
    data: Annotated[str, Field(max_length=DATA_MAX)]
    """The records: JSON, deflated, in base64."""


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="TargetRecord",
    plural="targetrecords",
    singular="targetrecord",
    short_names=("trec",),
    namespaced=False,
    model=TargetRecord,
    columns=(
        Column("Kind", ".parent.kind"),
        Column("Namespace", ".parent.namespace"),
        Column("Parent", ".parent.name"),
        Column("Targets", ".count", "integer"),
        AGE,
    ),
    status=False,
)
