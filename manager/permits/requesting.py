"""`copyhold permit request`: ask for what a template gives."""

from collections.abc import Mapping
from typing import Any

import click

from apis.problems import Forbidden
from manager.console import at_terminal, in_loop, say
from manager.permits.options import (
    DONE,
    Access,
    Connection,
    duration_option,
    permit_command,
    print_document,
    program,
    start_option,
    wait_option,
)


@click.command()
@click.argument("template")
@click.option("--global", "cluster_wide", is_flag=True, help="TEMPLATE is a GlobalResourcePermitTemplate.")
@click.option("--name", metavar="NAME", help="The name of the permit. Default: made of the template's.")
@click.option("--param", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter. May be given several times.")
@click.option("--params", "file", metavar="FILE", help="Parameters as YAML or JSON; - is standard input. --param goes before it.")
@click.option("--reason", metavar="TEXT", help="Why, for those who review it.")
@duration_option
@start_option
@click.option("--dry-run", is_flag=True, help="Make nothing, and print what would be made.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Print the permit in this form.")
@wait_option
@permit_command
def request(
    access: Access,
    template: str,
    cluster_wide: bool,
    name: str | None,
    assignments: tuple[str, ...],
    file: str | None,
    reason: str | None,
    duration: str | None,
    start: str | None,
    dry_run: bool,
    output: str | None,
    wait: bool,
) -> int:
    """Ask for what TEMPLATE gives. Parameters that are missing are asked for on a terminal."""
    from manager.permits import asking, client
    from manager.permits.glance import place_of
    from manager.permits.waiting import waited

    if wait and (output or dry_run):
        raise click.UsageError("--wait shows what happens, and prints no object: leave out -o and --dry-run")

    async def work() -> int:
        async with access.connect() as connection:
            schema = await _schema(connection, template, cluster_wide=cluster_wide)
            params = asking.given(schema, assignments, file, interactive=at_terminal())
            named = {"name": name} if name else {"generateName": f"{template}-"}
            wanted = {"params": params or None, "reason": reason, "duration": duration, "startTime": start}
            manifest = {
                "apiVersion": client.PERMIT.api_version,
                "kind": client.PERMIT.kind,
                "metadata": {"namespace": connection.namespace, **named},
                "spec": {
                    "template": {"kind": client.TEMPLATES[cluster_wide].kind, "name": template},
                    **{field: value for field, value in wanted.items() if value is not None},
                },
            }
            if dry_run:
                print_document(manifest, output or "yaml")
                return DONE
            connection.paused()
            made = await client.create(connection, manifest)
            if output:
                print_document(made, output)
                return DONE
            click.echo(f"ResourcePermit {place_of(made)}: asked for")
            if wait:
                return await waited(connection, made)
            where = f"{made['metadata']['name']} -n {connection.namespace}"
            click.echo(f"see how it stands: {program()} show {where}")
            return DONE

    return in_loop(work())


async def _schema(connection: Connection, template: str, *, cluster_wide: bool) -> Mapping[str, Any] | None:
    """The template's `paramSchema`; None when whoever asks may not read it."""
    from manager.permits import client

    try:
        found = await client.template(connection, template, cluster_wide=cluster_wide)
    except Forbidden as problem:
        say(f"copyhold: {problem}; the parameters are sent as they are")
        return None
    schema: Mapping[str, Any] = (found.get("spec") or {}).get("paramSchema") or {}
    return schema
