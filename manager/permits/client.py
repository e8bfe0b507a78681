"""What a person does with permits: read them, make them, and ask for transitions. Each function is one request, in their name."""

from collections.abc import Mapping
from typing import Any

from apis.copyhold import globalresourcepermittemplate, resourcepermit, resourcepermittemplate
from apis.copyhold.permitstatus import Phase
from apis.kind import Kind
from apis.meta import Manifest
from apis.problems import Blocked, Gone
from apis.reasons import Reason
from manager.permits.glance import phase_of, place_of, status_of
from manager.permits.options import Connection
from manager.world import Resource

PERMIT = resourcepermit.KIND
TEMPLATES: Mapping[bool, Kind] = {False: resourcepermittemplate.KIND, True: globalresourcepermittemplate.KIND}
"""The kinds of templates; the key says whether they are global."""


async def resource(connection: Connection, kind: Kind = PERMIT) -> Resource:
    """Where a kind is served. Raises Blocked, with the remedy, when it is not."""
    return await connection.cluster.resource(kind.api_version, kind.kind)


async def fetch(connection: Connection, name: str) -> Manifest:
    """The permit of that name. Raises Gone."""
    found = await connection.cluster.get(await resource(connection), connection.namespace, name)
    if found is None:
        raise Gone(f"ResourcePermit {connection.namespace}/{name} is not there: correct the name, or the namespace with -n")
    return found


async def listed(connection: Connection, *, everywhere: bool) -> list[Manifest]:
    """The permits of the namespace, or of all."""
    return (await connection.cluster.list(await resource(connection), "" if everywhere else connection.namespace)).items


async def template(connection: Connection, name: str, *, cluster_wide: bool) -> Manifest:
    """The template of that name. Raises Gone, and Forbidden."""
    kind = TEMPLATES[cluster_wide]
    namespace = "" if cluster_wide else connection.namespace
    found = await connection.cluster.get(await resource(connection, kind), namespace, name)
    if found is None:
        place, other = (name, "leave out --global") if cluster_wide else (f"{namespace}/{name}", "say --global for a global one")
        raise Gone(f"{kind.kind} {place} is not there: correct the name or the namespace, or {other}")
    return found


async def create(connection: Connection, permit: Manifest) -> Manifest:
    """Make a permit. Raises what the server says against it."""
    return await connection.cluster.create(await resource(connection), connection.namespace, permit)


async def ask(connection: Connection, name: str, phase: Phase, **given: Mapping[str, Any]) -> Manifest:
    """Ask for a transition; `given` are the parts of the status that a person may fill in. Answers the permit as it is then.

    Raises Blocked when the phase was written and nothing came of it, because admission is not in force.
    """
    parts = {part: {key: value for key, value in values.items() if value is not None} for part, values in given.items()}
    status = {"phase": str(phase), **{part: values for part, values in parts.items() if values}}
    kind = await resource(connection)
    permit = await connection.cluster.merge_patch(
        kind, connection.namespace, name, {"status": status}, manager="copyhold-cli", subresource="status"
    )
    transitions = status_of(permit).get("transitions") or [{}]
    if phase_of(permit) == phase and transitions[-1].get("type") != phase:
        why = "the server took status.phase, but no transition was recorded, so that nothing will come of it"
        remedy = "let an administrator see to the admission webhooks of Copyhold, then ask again"
        raise Blocked(Reason.REFUSED, f"ResourcePermit {place_of(permit)}: {why}: {remedy}")
    return permit
