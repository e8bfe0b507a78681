"""What the commands of permits have in common: who connects where, which exit codes there are, and the types of their options."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from inspect import getdoc
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click
import yaml

from apis.copyhold.duration import extended
from apis.meta import Manifest
from apis.problems import Gone
from manager.console import NAMESPACE, connected, context_option, failing_plainly, kubeconfig_option, say
from policy.permits.moments import moment, stamp

# `copyhold permit --help` shall not load an HTTP client.
if TYPE_CHECKING:
    from manager.cluster import ApiCluster

P = ParamSpec("P")

DONE, FAILED, USAGE, ABSENT, OVER = range(5)
"""The exit codes."""

EXIT_CODES = """\b
Exit codes:
  0  done
  1  refused, failed, or not proved
  2  wrong usage, or not confirmed
  3  it is not there
  4  with --wait: denied or expired"""

HOME = "default"
"""The namespace where neither an option nor the context names one, as with kubectl."""


@dataclass(frozen=True, slots=True)
class Access:
    """The server, who we are to it, and the namespace that is meant; all as the options say."""

    kubeconfig: str | None
    context: str | None
    user: str | None
    groups: tuple[str, ...]
    namespace: str

    @asynccontextmanager
    async def connect(self) -> AsyncIterator["Connection"]:
        """The server within the block. Raises Invalid, Unavailable."""
        from manager.servertime import ServerTime

        now = ServerTime(lambda: datetime.now(UTC), time.monotonic)
        server = connected(self.kubeconfig, self.context, user=self.user, groups=self.groups, heard=now.heard)
        async with server as cluster:
            yield Connection(cluster, self.namespace or cluster.client.endpoint.namespace or HOME, now)


@dataclass(frozen=True, slots=True)
class Connection:
    """A server, the namespace that is meant there, and the time by its clock."""

    cluster: "ApiCluster"
    namespace: str
    now: Callable[[], datetime]

    def paused(self) -> None:
        """Somebody was asked and took their time: connections that rested may be dead, and a write is sent only once."""
        self.cluster.client.forget_idle()


def permit_command(command: Callable[Concatenate[Access, P], int]) -> Callable[..., None]:
    """A command about permits: with the options that all have, the exit code for what is not there, and problems as one line."""

    @click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace. Default: that of the context.")
    @click.option("--as", "user", metavar="USER", help="Act as this user, which needs the right to impersonate.")
    @click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="And as a member of this group. Several times.")
    @kubeconfig_option
    @context_option
    @failing_plainly
    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> int:
        names = ("kubeconfig", "context", "user", "groups", "namespace")
        access = Access(**{name: options.pop(name) for name in names})
        if access.groups and access.user is None:
            raise click.UsageError("--as-group says more about --as: give both")
        try:
            return command(access, *args, **options)
        except Gone as gone:
            say(f"copyhold: {gone}")
            return ABSENT

    wrapped.__doc__ = f"{getdoc(command)}\n\n{EXIT_CODES}"
    return wrapped


keys_namespace_option = click.option(
    "--keys-namespace",
    default=NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="The manager's namespace, where the public keys are.",
)


# Types of options.


def length(text: str) -> str:
    """A duration as permits have it: `30m`, `8h`, `30d`."""
    try:
        extended(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}") from None
    return text


def point_in_time(text: str) -> str:
    """A moment in RFC 3339, as one in UTC with whole seconds."""
    try:
        return stamp(moment(text))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} {error}") from None


duration_option = click.option("--duration", type=length, metavar="DURATION", help="How long: 30m, 8h, 7d.")
start_option = click.option("--start", type=point_in_time, metavar="TIME", help="Not before (RFC 3339).")
wait_option = click.option("--wait", is_flag=True, help="Show what happens, until it is active, denied, failed or expired.")


# What commands say.


def program() -> str:
    """How this was called: `copyhold permit`, or `kubectl permit`."""
    parent = click.get_current_context().parent
    return parent.command_path if parent is not None else "copyhold permit"


def print_document(document: Manifest, output: str) -> None:
    """An object as `yaml` or `json`."""
    if output == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        click.echo(yaml.safe_dump(document, sort_keys=False, width=120, allow_unicode=True), nl=False)
