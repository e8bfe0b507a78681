"""What the commands have in common: options, problems and exit codes, questions, progress, an event loop."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click
from rich.console import Console
from rich.text import Text

from apis.intent import Identity
from apis.problems import Problem

# What a command needs beyond this is imported by it: `copyhold crds` shall not load an HTTP client.
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from manager.cluster import ApiCluster, Heard

P = ParamSpec("P")
T = TypeVar("T")

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NAMESPACE = "copyhold-system"
PATIENCE = 1.0
"""Seconds after which a terminal is told what takes so long."""


# Options that commands share.


def account(text: str) -> Identity:
    """A ServiceAccount as NAMESPACE/NAME."""
    namespace, _, name = text.partition("/")
    if not (namespace and name) or "/" in name:
        raise click.BadParameter(f"{text!r} is not NAMESPACE/NAME")
    return Identity(namespace, name)


kubeconfig_option = click.option(
    "--kubeconfig", metavar="FILE", help="The kubeconfig to use. Default: $KUBECONFIG, the Pod's own account, ~/.kube/config."
)
context_option = click.option("--context", metavar="NAME", help="The context of the kubeconfig. Default: its current one.")
default_account_option = click.option(
    "--default-service-account",
    "default_account",
    type=account,
    metavar="NAMESPACE/NAME",
    help="Who acts for cluster-scoped parents that name no account.",
)
allowed_accounts_option = click.option(
    "--allow-service-account",
    "allowed_accounts",
    type=account,
    metavar="NAMESPACE/NAME",
    multiple=True,
    help="An account of kube-system or of the manager's namespace that parents may name. May be given several times.",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def in_pod() -> bool:
    """Does this process run in a Pod, with an account of its own?"""
    return (ACCOUNT / "token").exists()


def own_namespace() -> str:
    """The namespace of this Pod, or `copyhold-system` outside a cluster."""
    try:
        return (ACCOUNT / "namespace").read_text().strip() or NAMESPACE
    except OSError:
        return NAMESPACE


namespace_option = click.option(
    "--namespace",
    default=own_namespace,
    metavar="NAME",
    show_default="that of the Pod, else copyhold-system",
    help="The manager's own namespace.",
)


# Problems and exit codes.


class Misused(click.UsageError):
    """A usage error where 2 is taken."""

    exit_code = 1


@contextmanager
def usage_is_1() -> Iterator[None]:
    """Within the block, a usage error ends with 1 and not with 2."""
    try:
        yield
    except click.UsageError as error:
        raise Misused(error.format_message(), error.ctx) from error


class Strict(click.Command):
    """A command in which a usage error exits with 1, because 2 means something else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does."""
        with usage_is_1():
            return super().parse_args(ctx, args)


class Commands(click.Group):
    """All commands. Which one was meant may not be known here, so that a usage error is 1 as well."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without a command, help."""
        if not args:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(1)
        with usage_is_1():
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does."""
        with usage_is_1():
            return super().resolve_command(ctx, args)


def failing_plainly(command: Callable[P, int]) -> Callable[P, None]:
    """Exit with what the command answers; a problem is one line on stderr and 1."""

    @wraps(command)
    def wrapped(*args: P.args, **options: P.kwargs) -> None:
        debug = bool(click.get_current_context().find_root().params.get("debug"))
        try:
            code = command(*args, **options)
        except Problem as problem:
            if debug:
                raise
            say(f"copyhold: {problem}")
            code = 1
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click's own: usage, Ctrl-C, --help, a reader that has seen enough
        except Exception as error:
            if debug:
                raise
            say(f"copyhold: a defect of copyhold ({type(error).__name__}): `copyhold --debug ...` shows where; please report it")
            code = 1
        sys.exit(code)

    return wrapped


def say(text: str) -> None:
    """One line on stderr."""
    click.echo(plain(text), err=True)


def put(lines: Iterable[tuple[str, str]]) -> None:
    """Lines with their styles, on stdout; a terminal is not obeyed to what stands in them."""
    console = Console(highlight=False, soft_wrap=True)
    for text, style in lines:
        console.print(Text(plain(text), style=style))


def plain(text: str) -> str:
    """One line that a terminal does not obey: names and messages come from manifests."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text.replace("\n", " "))


def at_terminal() -> bool:
    """Is there somebody who can be asked?"""
    return sys.stdin.isatty()


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask, unless that was answered beforehand. Without a terminal there is nobody to ask: say so and answer no."""
    if yes:
        return True
    if not at_terminal():
        say("copyhold: not confirmed: nobody can be asked without a terminal; give --yes")
        return False
    return click.confirm(question, default=False, err=True)


# Working in an event loop.


class Progress:
    """What is being done, on a terminal's stderr once it has taken a while. Nothing at all elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status = self._console.status("")
        self._text = ""
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, text: str) -> None:
        """Now doing this."""
        self._text = plain(text)
        self._status.update(Text(self._text))

    def __enter__(self) -> "Progress":
        if self._console.is_terminal:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._status.start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._status.stop()


@asynccontextmanager
async def connected(
    kubeconfig: str | None,
    context: str | None,
    *,
    user: str | None = None,
    groups: tuple[str, ...] = (),
    heard: "Heard | None" = None,
) -> "AsyncIterator[ApiCluster]":
    """The cluster of a kubeconfig, within the block, as `user` if one is named. Raises Invalid, Unavailable."""
    from manager.cluster import ApiCluster
    from manager.credentials import load
    from manager.endpoint import As
    from manager.http import Client

    endpoint = await load(kubeconfig, context)
    if user is not None:
        endpoint = replace(endpoint, credentials=As(endpoint.credentials, user, groups))
    client = Client(endpoint)
    try:
        yield ApiCluster(client, heard=heard)
    finally:
        await client.close(1.0)


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it in an event loop of its own."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
