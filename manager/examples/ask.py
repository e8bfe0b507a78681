"""Asking for a transition of a permit, as a person does: by writing `status.phase`, with the digest of what is approved."""

from datetime import datetime, timedelta
from typing import Any

from apis.copyhold.duration import extended
from apis.copyhold.permitstatus import Phase
from manager.editor import Editor
from manager.examples.script import Approve, Ask
from manager.permits.glance import digest_of
from policy.permits.moments import stamp


async def ask(editor: Editor, phase: Phase, wanted: Ask, now: datetime, *, manager: str = "") -> None:
    """Ask for the phase. An approval is of what is there at this moment. Raises what the server says against it."""
    review: dict[str, Any] = {"message": wanted.message} if wanted.message else {}
    request: dict[str, Any] = {}
    if isinstance(wanted, Approve):
        digest = digest_of(await editor.read(wanted.ref) or {})
        review |= {"digest": digest} if digest else {}
        start = None if wanted.start is None else stamp(now + timedelta(seconds=extended(wanted.start)))
        changes = {"duration": wanted.duration, "keepFor": wanted.keep_for, "startTime": start}
        request = {field: value for field, value in changes.items() if value is not None}
    status = {"phase": str(phase), **({"review": review} if review else {}), **({"request": request} if request else {})}
    ref = wanted.ref
    metadata = {"name": ref.name, "namespace": ref.namespace}
    patch = {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": metadata, "status": status}
    await editor.edit(patch, manager=manager, subresource="status")
