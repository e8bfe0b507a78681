"""`copyhold permit approve`, `deny`, `expire` and `retry`: ask for a transition."""

import click

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from manager.console import confirmed, in_loop, say, yes_option
from manager.permits.looking import present
from manager.permits.options import (
    DONE,
    FAILED,
    USAGE,
    Access,
    duration_option,
    keys_namespace_option,
    length,
    permit_command,
    start_option,
    wait_option,
)

message_option = click.option("-m", "--message", metavar="TEXT", help="What you have to say; it stays with the permit.")


@click.command()
@click.argument("name")
@click.option("--digest", metavar="DIGEST", help="Approve this and nothing else: the digest that `show` names.")
@message_option
@duration_option
@click.option("--keep-for", type=length, metavar="DURATION", help="How long the record is kept after the end.")
@start_option
@keys_namespace_option
@wait_option
@yes_option
@permit_command
def approve(
    access: Access,
    name: str,
    digest: str | None,
    message: str | None,
    duration: str | None,
    keep_for: str | None,
    start: str | None,
    keys_namespace: str,
    wait: bool,
    yes: bool,
) -> int:
    """Approve what is shown, and exactly that: should it change meanwhile, the server refuses.

    --duration, --keep-for and --start change what was asked for; approvals that others gave before are void then.
    """
    from manager.permits import client
    from manager.permits.glance import approved, digest_of, phase_of
    from manager.permits.waiting import waited

    changes = {"duration": duration, "keepFor": keep_for, "startTime": start}

    async def work() -> int:
        async with access.connect() as connection:
            found = await client.fetch(connection, name)
            await present(connection, found, keys_namespace)
            shown = digest_of(found)
            title = f"ResourcePermit {connection.namespace}/{name}"
            against = _against(found, digest)
            if against:
                say(f"copyhold: {title}: {against}")
                return FAILED
            for field, value in changes.items():
                if value is not None:
                    click.echo(f"with {field} {value}")
            if not confirmed("Approve this?", yes=yes):
                return USAGE
            connection.paused()
            now = await client.ask(
                connection, name, Phase.APPROVED, review={"digest": shown, "message": message}, request=changes
            )
            if phase_of(now) == Phase.REQUESTED:
                click.echo(f"{title}: your approval is recorded, {approved(now)}: it stays Requested until there are enough")
            else:
                click.echo(f"{title}: {phase_of(now)}")
            return await waited(connection, now) if wait else DONE

    return in_loop(work())


def _against(permit: Manifest, wanted: str | None) -> str:
    """Why what was shown is not approved; empty when nothing stands against it."""
    from manager.permits.glance import digest_of, phase_of, status_of
    from policy.permits.snapshot import Snapshot

    status, shown = status_of(permit), digest_of(permit)
    if phase_of(permit) not in (Phase.REQUESTED, Phase.PENDING) or not shown:
        return f"status.phase is {phase_of(permit) or 'empty'}: only what is Requested can be approved"
    if Snapshot.of(status).digest != shown:
        return "status.request.digest is not that of what is shown: somebody changed the snapshot, deny it"
    if wanted and wanted != shown:
        return f"status.request.digest is {shown} by now, not {wanted}: approve what it is, or deny it"
    return ""


@click.command()
@click.argument("name")
@message_option
@permit_command
def deny(access: Access, name: str, message: str | None) -> int:
    """Deny a permit; it can only be expired then."""
    return _transition(access, name, Phase.DENIED, message)


@click.command()
@click.argument("name")
@message_option
@permit_command
def expire(access: Access, name: str, message: str | None) -> int:
    """End a permit before its time: what it gave is taken back."""
    return _transition(access, name, Phase.EXPIRED, message)


@click.command()
@click.argument("name")
@message_option
@wait_option
@permit_command
def retry(access: Access, name: str, message: str | None, wait: bool) -> int:
    """Try again what failed, with the snapshot as it is."""
    return _transition(access, name, Phase.RETRYING, message, wait=wait)


def _transition(access: Access, name: str, phase: Phase, message: str | None, *, wait: bool = False) -> int:
    from manager.permits import client
    from manager.permits.glance import phase_of, place_of
    from manager.permits.waiting import waited

    async def work() -> int:
        async with access.connect() as connection:
            found = await client.ask(connection, name, phase, review={"message": message})
            click.echo(f"ResourcePermit {place_of(found)}: {phase_of(found)}")
            return await waited(connection, found) if wait else DONE

    return in_loop(work())
