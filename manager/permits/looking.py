"""`copyhold permit list` and `show`: what there is, and all of one permit."""

import click

from apis.copyhold.permitstatus import Phase
from apis.meta import Manifest
from manager.console import in_loop, put, say
from manager.permits.options import DONE, Access, Connection, keys_namespace_option, permit_command, print_document


@click.command("list")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Those of all namespaces.")
@click.option(
    "--phase",
    "phases",
    multiple=True,
    type=click.Choice([str(phase) for phase in Phase], case_sensitive=False),
    help="Only those in this phase. May be given several times.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@permit_command
def list_(access: Access, everywhere: bool, phases: tuple[str, ...], output: str) -> int:
    """List permits."""
    from manager.permits import client
    from manager.permits.glance import phase_of
    from manager.permits.listing import table

    async def work() -> int:
        async with access.connect() as connection:
            found = await client.listed(connection, everywhere=everywhere)
            found = [one for one in found if not phases or phase_of(one) in phases]
            if output != "text":
                print_document({"apiVersion": "v1", "kind": "List", "items": found}, output)
            elif not found:
                say("no permits" if everywhere else f"no permits in namespace {connection.namespace}")
            else:
                for line in table(found, connection.now(), namespaces=everywhere):
                    click.echo(line)
            return DONE

    return in_loop(work())


@click.command()
@click.argument("name")
@keys_namespace_option
@permit_command
def show(access: Access, name: str, keys_namespace: str) -> int:
    """Show a permit whole: what it gives to whom, who asked for it and who approved, and whether its trail is unbroken.

    Values of Secrets are shown as digests; nobody but the manager has the others.
    """
    from manager.permits import client

    async def work() -> int:
        async with access.connect() as connection:
            await present(connection, await client.fetch(connection, name), keys_namespace)
            return DONE

    return in_loop(work())


async def present(connection: Connection, found: Manifest, keys_namespace: str) -> None:
    """Print all of a permit. Raises no problem: a trail that cannot be checked says so."""
    from manager.permits.trailview import trail
    from manager.permits.view import whole

    put(whole(found, connection.now()))
    put(await trail(connection.cluster, found, keys_namespace))
