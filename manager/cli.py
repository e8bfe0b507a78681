"""The commands. Each one reads its options, asks one module to do the work, and turns problems into one line and an exit code.

A problem is one line on stderr that names what and the remedy, without a traceback (`copyhold --debug COMMAND` shows it).
Usage errors of a command exit with 2, except in `plan`, where 2 means changes: there, and where no command could be made out,
everything that goes wrong is 1.
"""

import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml
from rich.console import Console
from rich.text import Text

from apis.crd import crd
from apis.intent import Identity
from apis.kind import kinds, parents
from apis.problems import Invalid
from manager.console import (
    Commands,
    Progress,
    Strict,
    allowed_accounts_option,
    confirmed,
    connected,
    context_option,
    default_account_option,
    failing_plainly,
    in_loop,
    in_pod,
    kubeconfig_option,
    namespace_option,
    plain,
    say,
    yes_option,
)
from manager.permits.commands import permit

# What a command needs beyond this is imported by it: `copyhold crds` shall not load an HTTP client.
if TYPE_CHECKING:
    from manager.plan import Sheet
    from policy.account import Accounts


def own_version() -> str:
    """The version that was installed; sources that were not say so."""
    try:
        return version("copyhold")
    except PackageNotFoundError:
        return "of a source tree that is not installed"


# The commands.


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(own_version(), prog_name="copyhold")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Groups of rendered resources, applied under policy, recorded, and taken back exactly."""


@main.command()
@click.argument("groups", nargs=-1, metavar="[GROUP ...]")
@failing_plainly
def crds(groups: tuple[str, ...]) -> int:
    """Print the CustomResourceDefinitions of all kinds, or of these API groups, as YAML."""
    known = {kind.group for kind in kinds()}
    unknown = sorted(set(groups) - known)
    if unknown:
        raise click.UsageError(f"no kind of ours is in {', '.join(unknown)}: the groups are {', '.join(sorted(known))}")
    for kind in kinds():
        if not groups or kind.group in groups:
            click.echo("---")
            click.echo(yaml.safe_dump(crd(kind), sort_keys=False, width=120, allow_unicode=True), nl=False)
    return 0


@main.command(cls=Strict)
@click.option(
    "-f",
    "--file",
    "paths",
    multiple=True,
    metavar="PATH",
    help="A file or folder of manifests, or - for standard input. May be given several times. Without a server, what the files "
    "hold is what is there; with one, parents, Tenants, namespaces and CustomResourceDefinitions count as if applied.",
)
@kubeconfig_option
@context_option
@default_account_option
@allowed_accounts_option
@namespace_option
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
@click.argument("names", nargs=-1, metavar="[KIND/NAME ...]")
@failing_plainly
def plan(
    paths: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    default_account: Identity | None,
    allowed_accounts: tuple[Identity, ...],
    namespace: str,
    output: str,
    names: tuple[str, ...],
) -> int:
    """Show what would happen to every target; nothing is written.

    With -f alone no cluster is asked. With --kubeconfig or --context (or without -f: in the current context) a server is asked,
    and every change is tried there as a dry run in the name of the parent's account. Both together answer: what would this
    change do?

    \b
    Exit codes, whatever the output:
      0  nothing to do
      2  changes
      1  error: a parent is held, a source fails, a target is in conflict or refused, or the command could not do its work
    """
    from manager.plan import document, exit_code, lines
    from policy.account import Accounts

    accounts = Accounts(default_account, namespace, frozenset(allowed_accounts))

    async def work() -> "Sequence[Sheet]":
        with Progress() as progress:
            return await planned(paths, kubeconfig, context, accounts, names, progress)

    sheets = in_loop(work())
    if output == "json":
        import json

        click.echo(json.dumps(document(sheets), indent=2, ensure_ascii=False))
    elif output == "yaml":
        click.echo(yaml.safe_dump(document(sheets), sort_keys=False, width=120, allow_unicode=True), nl=False)
    else:
        console = Console(highlight=False, soft_wrap=True)
        for line in lines(sheets):
            console.print(Text(plain(line.text), style=line.style))
    return exit_code(sheets)


async def planned(
    paths: Sequence[str],
    kubeconfig: str | None,
    context: str | None,
    accounts: "Accounts",
    names: Sequence[str],
    progress: Callable[[str], None],
) -> "Sequence[Sheet]":
    """The sheets of a plan over files, a server, or both. Raises problems."""
    from manager.files import Folder, Overlaid, openapi, read
    from manager.plan import Planner
    from manager.plan import plan as make
    from manager.preview import DryRun, OnPaper, Previewer
    from manager.render.pool import Renderer
    from manager.schemas import Schemas
    from manager.world import World

    folder = Folder(read(paths))
    async with AsyncExitStack() as stack:
        renderer = Renderer()
        stack.push_async_callback(renderer.close)
        world: World
        preview: Previewer
        if paths and kubeconfig is None and context is None:
            world, schemas, preview = folder, Schemas(openapi(folder)), OnPaper(folder)
        else:
            progress("connecting")
            cluster = await stack.enter_async_context(connected(kubeconfig, context))
            world, schemas, preview = Overlaid(cluster, folder), Schemas(cluster.get_raw), DryRun(cluster)
        return await make(Planner(world, renderer, schemas, accounts, preview, datetime.now(UTC), progress), names)


@main.command()
@click.argument("kind")
@click.argument("name")
@click.option("-n", "--namespace", default="", metavar="NAMESPACE", help="The namespace of the object, if its kind has one.")
@click.option("--force", is_flag=True, help="Drop the marks of living parents too; they may take the object again.")
@kubeconfig_option
@context_option
@yes_option
@failing_plainly
def release(kind: str, name: str, namespace: str, force: bool, kubeconfig: str | None, context: str | None, yes: bool) -> int:
    """Free one object from parents that do not exist any more; its content stays.

    KIND is what kubectl takes: a kind, plural or short name, with .GROUP if it is not clear. The request is sent in your own
    name with the UID of the parent beside it, so that protection lets it pass and the audit log says who did it.

    \b
    Exit codes:
      0  done, or nothing to do
      1  error
      2  wrong usage, or not confirmed
    """
    from manager.release import free, judged, kind_named, living, whoami

    async def work() -> int:
        async with connected(kubeconfig, context) as cluster:
            resource = await kind_named(cluster, kind)
            if resource.namespaced and not namespace:
                raise click.UsageError(f"{resource.kind} has a namespace: give it with -n")
            place = namespace if resource.namespaced else ""
            found = await cluster.get(resource, place, name, metadata=True)
            title = f"{resource.kind} {place}/{name}" if place else f"{resource.kind} {name}"
            if found is None:
                say(f"copyhold: {title} is not there: correct the name or the namespace")
                return 1
            held = judged(found, await living(cluster))
            for uid in held.dead:
                click.echo(f"{title}: drops the marks of parent {plain(uid)}, which does not exist")
            for uid, parent in held.living.items():
                what = "drops the marks of" if force else "keeps the marks of"
                click.echo(plain(f"{title}: {what} {parent} ({uid}), which exists{'' if force else ' (--force drops them too)'}"))
            uids = (*held.dead, *(held.living if force else ()))
            if not uids:
                click.echo(f"{title}: nothing to drop")
                return 0
            if not confirmed("Drop them?", yes=yes):
                return 2
            staying = held.living.keys() - set(uids)
            await free(cluster, await whoami(cluster), resource, place, name, uids, staying.__contains__)
            click.echo(f"{title}: freed")
            return 0

    return in_loop(work())


@main.command()
@click.option("--keep", "mode", flag_value="keep", help="Leave every target as it is, without our marks. No manager may run.")
@click.option("--remove", "mode", flag_value="remove", help="Let the running manager take every target back.")
@click.option("--crds", is_flag=True, help="Delete the CustomResourceDefinitions too, and with them all Tenants.")
@click.option(
    "--stop", "deployment", metavar="NAME", help="With --keep: first scale this Deployment of the manager's namespace to zero."
)
@click.option("--force", is_flag=True, help="With --keep: go on although a manager seems to run.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the manager: with --remove for its work, with --stop for its end.",
)
@namespace_option
@kubeconfig_option
@context_option
@yes_option
@failing_plainly
def uninstall(
    mode: str | None,
    crds: bool,
    deployment: str | None,
    force: bool,
    timeout: float,
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    yes: bool,
) -> int:
    """Take all parents, marks, records and admission policies out of the cluster. Run it again if it was interrupted.

    \b
    Exit codes:
      0  done
      1  error, or something is left
      2  wrong usage, or not confirmed
    """
    from manager import uninstall as steps
    from manager.release import whoami

    if mode is None:
        raise click.UsageError("say what becomes of the targets: --keep or --remove")
    if deployment is not None and mode != "keep":
        raise click.UsageError("--stop belongs to --keep: with --remove the manager has to run")

    async def work() -> int:
        async with connected(kubeconfig, context) as cluster:
            if deployment is not None:
                if not confirmed(f"This will scale Deployment {namespace}/{deployment} to zero. Go on?", yes=yes):
                    return 2
                with Progress() as tell:
                    await steps.stop(cluster, namespace, deployment, tell, timeout)
            running = await steps.managers(cluster, namespace, datetime.now(UTC)) if mode == "keep" else []
            if running and not force:
                say(
                    f"copyhold: a manager is running ({', '.join(running)}) and would apply again what is let go: stop it "
                    f"(kubectl -n {namespace} scale deployment --all --replicas=0), or give --force"
                )
                return 1
            parents = await steps.every(cluster)
            what = "let go of all targets of" if mode == "keep" else "remove all targets of"
            if not confirmed(f"This will {what} {len(parents)} parents and delete the parents. Go on?", yes=yes):
                return 2
            administrator = await whoami(cluster)
            with Progress() as tell:
                if mode == "keep":
                    failures = await steps.keep(cluster, administrator, steps.everyone, tell)
                else:
                    failures = await steps.remove(cluster, steps.everyone, tell, say, timeout)
                if not failures:
                    failures = await steps.clean(cluster, administrator, tell)
            for failure in failures:
                say(f"copyhold: {failure.what}: {failure.problem}")
            if failures:
                return 1
            click.echo(f"drained: {len(parents)} parents, their marks and records, and the admission policies are gone")
            if crds:
                click.echo(f"deleted {len(await steps.delete_crds(cluster))} CustomResourceDefinitions")
            for line in steps.farewell(namespace, crds=not crds):
                click.echo(f"what is left goes with: {line}")
            return 0

    return in_loop(work())


def _kind(context: click.Context, param: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds that are meant by kinds, plurals and short names."""
    known = {name: kind.kind for kind in parents() for name in (kind.kind.lower(), kind.plural, *kind.short_names)}
    for word in words:
        if word.lower() not in known:
            names = ", ".join(sorted({kind.kind for kind in parents()}))
            raise click.BadParameter(f"{word!r} is no kind of parent: the kinds are {names}", context, param)
    return tuple(known[word.lower()] for word in words)


def _listen(context: click.Context, param: click.Parameter, text: str) -> str:
    """ADDRESS:PORT, or nothing for no server."""
    host, _, port = text.rpartition(":")
    if text and not (host and port.isdigit() and int(port) < 1 << 16):
        raise click.BadParameter(f"{text!r} is not ADDRESS:PORT", context, param)
    return text


def _address() -> str:
    """Everybody may ask a Pod how it is; on a laptop only the laptop."""
    return "0.0.0.0:8080" if in_pod() else "127.0.0.1:8080"


@main.command()
@kubeconfig_option
@context_option
@click.option(
    "--kind",
    "wanted",
    multiple=True,
    callback=_kind,
    metavar="KIND",
    help="Reconcile parents of this kind only. May be given several times. Default: all.",
)
@default_account_option
@allowed_accounts_option
@namespace_option
@click.option(
    "--listen",
    default=_address,
    callback=_listen,
    metavar="ADDRESS:PORT",
    show_default="127.0.0.1:8080, in a Pod 0.0.0.0:8080",
    help="Where /healthz, /readyz and /metrics are served; empty for nowhere.",
)
@click.option(
    "--identity",
    default=socket.gethostname,
    show_default="the host's name",
    metavar="NAME",
    help="The name of this replica in Leases and Events.",
)
@click.option(
    "--admission-service",
    default="",
    metavar="NAMESPACE/NAME:PORT",
    help="Serve admission of permits, and have the API server ask it by this Service. All replicas share one certificate.",
)
@click.option(
    "--admission-url",
    default="",
    metavar="https://HOST:PORT",
    help="Serve admission of permits there, and have the API server ask it by this URL while this process runs: for development.",
)
@click.option(
    "--admission-listen",
    default="",
    metavar="ADDRESS:PORT",
    help="Where admission is served. Default: 0.0.0.0:9443, with --admission-url what that says.",
)
@click.option(
    "--admission-certificate",
    default="",
    metavar="DIR",
    help="A folder with tls.crt, tls.key and ca.crt for admission, read again when they change. Default: own certificates.",
)
@click.option("--single-replica", is_flag=True, help="Take no Leases: nothing else may run against the cluster.")
@click.option("--workers", type=click.IntRange(min=1), default=4, show_default=True, help="Parents at the same time.")
@click.option(
    "--width",
    type=click.IntRange(min=1),
    default=24,
    show_default=True,
    help="Requests for one parent's targets at the same time.",
)
@click.option(
    "--render-workers", type=click.IntRange(min=1), default=1, show_default=True, help="Processes that render templates."
)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True)
@click.option(
    "--log-json/--log-text", "log_json", default=None, help="The form of the log. Default: text on a terminal, else JSON."
)
@failing_plainly
def run(
    kubeconfig: str | None,
    context: str | None,
    wanted: tuple[str, ...],
    default_account: Identity | None,
    allowed_accounts: tuple[Identity, ...],
    namespace: str,
    listen: str,
    identity: str,
    admission_service: str,
    admission_url: str,
    admission_listen: str,
    admission_certificate: str,
    single_replica: bool,
    workers: int,
    width: int,
    render_workers: int,
    log_level: str,
    log_json: bool | None,
) -> int:
    """Run the manager against a cluster until SIGINT or SIGTERM.

    \b
    Exit codes:
      0  after a signal
      1  it could not go on
      2  wrong usage
    """
    from manager.admission.serve import serving
    from manager.log import configure
    from manager.run import Settings
    from manager.run import run as work

    try:
        serving(admission_url, admission_service, admission_listen, admission_certificate)
    except Invalid as problem:
        raise click.UsageError(str(problem)) from problem
    configure(log_level, log_json)
    settings = Settings(
        kubeconfig=kubeconfig,
        context=context,
        default_account=default_account,
        allowed_accounts=allowed_accounts,
        kinds=wanted,
        namespace=namespace,
        listen=listen,
        identity=identity,
        leases=not single_replica,
        workers=workers,
        width=width,
        render_workers=render_workers,
        admission_url=admission_url,
        admission_service=admission_service,
        admission_listen=admission_listen,
        admission_certificate=admission_certificate,
    )
    return in_loop(work(settings))


@main.command()
@click.option("--load", multiple=True, metavar="DIR", type=click.Path(), help="A folder to apply. May be given several times.")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep everything in this folder, and go on from what is there. Default: in memory.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default="a free one", metavar="N", help="Where the server listens."
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where the kubeconfig is written. Default: a folder of your own, below $XDG_RUNTIME_DIR or ~/.local/state.",
)
@default_account_option
@namespace_option
@failing_plainly
def up(
    load: tuple[str, ...],
    data: Path | None,
    port: int,
    kubeconfig: Path | None,
    default_account: Identity | None,
    namespace: str,
) -> int:
    """Run an embedded cluster and the manager on it, and show what happens, until SIGINT or SIGTERM.

    The first line is the command that points kubectl at it. On a terminal a live view follows, elsewhere a line for each thing
    that happens. A folder for --load holds parent.yaml, and in cluster/ what must be there before it.

    \b
    Exit codes:
      0  after a signal
      1  it could not go on
      2  wrong usage
    """
    from manager.log import configure
    from manager.up import Settings
    from manager.up import up as work

    configure("error")
    return in_loop(work(Settings(load, data, port, kubeconfig, default_account, namespace)))


@main.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR ...", type=click.Path())
@click.option("-o", "--output", type=click.Choice(["text", "junit"]), default="text", show_default=True)
@click.option("--keep", is_flag=True, help="With a cluster of your own: use what is there, and leave everything at the end.")
@default_account_option
@namespace_option
@click.option(
    "--kubeconfig", metavar="FILE", help="Run on the cluster of this kubeconfig. Default: an embedded one, made for the moment."
)
@context_option
@click.option(
    "--admission-url",
    metavar="URL",
    help="For permits on a cluster of your own: https://HOST:PORT, by which its API server reaches this machine. Default: a free"
    " port of 127.0.0.1.",
)
@failing_plainly
def test(
    folders: tuple[str, ...],
    output: str,
    keep: bool,
    default_account: Identity | None,
    namespace: str,
    admission_url: str | None,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Run example folders: parent.yaml, cluster/*.yaml and the steps of expect.yaml, beside a manager in this process.

    Each folder begins with an empty cluster; on a cluster of your own it creates what it names, and removes it at the end.

    \b
    Exit codes:
      0  every expectation came true
      1  something failed
      2  wrong usage: a folder cannot be read, or a step of expect.yaml is wrong
    """
    from manager.admission.serve import serving
    from manager.examples.report import read_all, run_examples
    from manager.examples.runner import RunOptions
    from manager.log import configure
    from manager.office import LOOPBACK

    configure("error")
    examples = read_all(folders)
    admission = serving(admission_url or "", "", "", "") or LOOPBACK
    return in_loop(run_examples(examples, output, RunOptions(keep, default_account, namespace, admission), kubeconfig, context))


@main.command()
@click.argument("expression")
@click.option(
    "--var",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable, as YAML; NAME=@FILE reads a file, NAME=@- standard input. May be given several times.",
)
@click.option(
    "--type",
    "declarations",
    multiple=True,
    metavar="NAME=TYPE",
    help="The type of a variable: int, timestamp, list(string), map(string, dyn) ... Default: dyn. May be given several times.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@failing_plainly
def cel(expression: str, assignments: tuple[str, ...], declarations: tuple[str, ...], output: str) -> int:
    """Evaluate a CEL expression, and show its type, its value and its cost.

    What conditions see is there: `now`, unless it is given, and `object` as soon as it is. An expression that begins with a minus
    stands behind `--`.

    \b
    Example:
      copyhold cel 'object.spec.replicas > 1' --var object=@deployment.yaml

    \b
    Exit codes:
      0  a value
      1  the evaluation failed, or cost more than it may
      2  the expression does not compile, or wrong usage
    """
    from manager.cel import answer, complaint, failure, given, shown, written
    from policy import cel as language

    def failed(error: language.CelError, code: int) -> int:
        for line in complaint(error, expression):
            click.echo(line, err=True)
        if output == "json":
            click.echo(written(failure(error), output))
        return code

    variables = given(assignments, declarations, datetime.now(UTC), sys.stdin.buffer.read)
    try:
        program = language.compile(expression, variables.kinds)
    except language.CelError as error:
        return failed(error, 2)
    try:
        found = answer(program, variables.values)
    except language.CelError as error:
        return failed(error, 1)
    click.echo(written(shown(found), output))
    return 0


main.add_command(permit)


if __name__ == "__main__":
    main()
