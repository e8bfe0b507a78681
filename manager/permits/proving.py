"""`copyhold permit verify` and `export`: prove what happened, also without the cluster."""

import click

from manager.console import in_loop, put, say
from manager.permits.options import DONE, FAILED, Access, keys_namespace_option, permit_command, print_document


@click.command()
@click.argument("permit", metavar="NAME|FILE")
@click.option("--keys", metavar="FILE", help="The public keys: the ConfigMap, or an export. Default: those in the cluster.")
@click.option("--known", default="", metavar="HASH", help="A hash that an Event or the log names: it must be in the trail.")
@keys_namespace_option
@permit_command
def verify(access: Access, permit: str, keys: str | None, known: str, keys_namespace: str) -> int:
    """Check that every step of a permit was signed by the manager, and that nothing was changed, left out or put in between.

    A FILE is what `export` or `kubectl get -o json` has written; a word with a slash, and one that is a file here, means a file.
    With --keys it is checked without a cluster; keys that an export holds are only used when it is named there, because whoever
    makes up a permit can make up keys.
    """
    from manager.permits import client, evidence
    from manager.permits.trailview import verdict

    async def work() -> int:
        public = evidence.keys_in(evidence.read(keys), keys) if keys else None
        found = evidence.permit_in(evidence.read(permit), permit) if evidence.is_file(permit) else None
        if public is None or found is None:
            async with access.connect() as connection:
                if found is None:
                    found = await client.fetch(connection, permit)
                if public is None:
                    source = evidence.keys_place(keys_namespace)
                    public = evidence.keys_in([await evidence.published(connection.cluster, keys_namespace)], source)
        said = verdict(found, public, known=known)
        put(said.lines)
        if said.broken:
            say(f"copyhold: ResourcePermit {said.broken}")
        return FAILED if said.broken else DONE

    return in_loop(work())


@click.command()
@click.argument("name")
@keys_namespace_option
@permit_command
def export(access: Access, name: str, keys_namespace: str) -> int:
    """Print a permit and the public keys as one JSON document, for an archive: `verify FILE --keys FILE` checks it anywhere."""
    from manager.permits import client, evidence

    async def work() -> int:
        async with access.connect() as connection:
            found = await client.fetch(connection, name)
            print_document(evidence.exported(found, await evidence.published(connection.cluster, keys_namespace)), "json")
            return DONE

    return in_loop(work())
