"""Where the API server is and who we are there: from a kubeconfig, or from the Pod that we run in.

A kubeconfig is read by the `kubernetes` package, which knows exec plugins, OIDC and the rest. Importing it costs more than a
second and 16 MB, so that happens in a short-lived child process: this module run as a program. What it finds comes back over
a pipe; secrets are never in arguments, in the environment or in a file that outlives the moment.

The child is run again when an exec plugin's credentials near their end and after a 401, at most every `PACE` seconds.
"""

import asyncio
import importlib
import json
import logging
import os
import ssl
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import yaml

from apis.problems import Invalid, Problem, Unavailable
from apis.reasons import Reason
from manager import child
from manager.endpoint import Endpoint

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a Pod finds its token and the cluster's CA."""

DEFAULT = "~/.kube/config"

REREAD = 60.0
"""Seconds after which a Pod's token file is read again; the kubelet renews it well before its end."""

PACE = 10.0
"""Seconds between two runs of the child after refusals: a revoked account must not start one for each request."""

EARLY = 60.0
"""Seconds before their end at which credentials are renewed (a tenth of their life, if that is less)."""

PATIENCE = 120.0
"""Seconds that the child may take: an exec plugin may have to ask a far server."""

_ROOT = str(Path(__file__).resolve().parent.parent)
_CHILD = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('manager.credentials', run_name='__main__')"


async def load(kubeconfig: str | None = None, context: str | None = None) -> Endpoint:
    """The server to talk to.

    In this order: `kubeconfig` (or `context`) when given, the environment variable KUBECONFIG (several files as kubectl takes
    them), the Pod's own account, `~/.kube/config`. Raises Invalid when what was found cannot be used, Unavailable when an exec
    plugin gave nothing.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG")
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not named and context is None and host and (ACCOUNT / "token").exists():
        return in_cluster(host, int(os.environ.get("KUBERNETES_SERVICE_PORT") or 443))
    return await from_kubeconfig(named or DEFAULT, context)


# In a Pod.


def in_cluster(host: str, port: int, account: Path = ACCOUNT) -> Endpoint:
    """The API server as a Pod sees it. Raises Invalid when the account's files are not there or not readable."""
    try:
        authority = (account / "ca.crt").read_text()
    except OSError as error:
        raise Invalid(
            Reason.INVALID, f"{account}/ca.crt cannot be read ({error.strerror}): mount a ServiceAccount token"
        ) from error
    home = account / "namespace"
    namespace = home.read_text().strip() if home.exists() else ""
    return Endpoint(host, port, tls=_tls({"ca": authority}), credentials=TokenFile(account / "token"), namespace=namespace)


class TokenFile:
    """A token that somebody else keeps fresh in a file. `clock` gives monotonic seconds."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._read_at = float("-inf")
        self._header = ""

    def header(self) -> str:
        """The Authorization line. Raises Unavailable when the file cannot be read."""
        if self._clock() - self._read_at >= REREAD:
            self._read()
        return self._header

    async def renew(self, refused: str | None) -> bool:
        """Read the file now. True when it holds another token than the one that was refused."""
        self._read()
        return self._header != refused

    def _read(self) -> None:
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            if not self._header:
                raise Unavailable(f"the token file {self._path} cannot be read: {error.strerror}") from error
        else:
            self._header = _line(f"Bearer {token}")
        self._read_at = self._clock()  # also after trouble with the file: what we have may outlast it


# With a kubeconfig.


async def from_kubeconfig(paths: str, context: str | None) -> Endpoint:
    """The server of a context (the current one when None) of these files, separated as in KUBECONFIG. Raises as `load`."""
    found = await _ask_child(paths, context)
    url = urlsplit(found["server"])
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
    except ValueError as error:
        raise Invalid(Reason.INVALID, "kubeconfig: the port of the server's URL is not a number") from error
    if url.scheme not in ("http", "https") or not url.hostname:
        raise Invalid(Reason.INVALID, "kubeconfig: the server must be a URL with http or https and a host")
    tls = _tls(found) if url.scheme == "https" else None
    credentials = Kubeconfig(paths, context, tls, found)
    return Endpoint(
        url.hostname,
        port,
        tls=tls,
        server_name=found.get("server_name") or "",
        prefix=url.path.rstrip("/"),
        credentials=credentials,
        namespace=found.get("namespace") or "",
    )


class Kubeconfig:
    """What a kubeconfig gives to prove ourselves with. `now` gives seconds since the epoch, `clock` monotonic seconds."""

    def __init__(
        self,
        paths: str,
        context: str | None,
        tls: ssl.SSLContext | None,
        found: dict[str, Any],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths = paths
        self._context = context
        self._tls = tls
        self._now = now
        self._clock = clock
        self._renewal: asyncio.Task[bool] | None = None
        self._expires: float | None = None
        self._renew_at: float | None = None
        self._certificate = found.get("certificate")
        self._take(found)

    def header(self) -> str | None:
        """The Authorization line (empty with a client certificate alone); None once it has expired."""
        if self._renew_at is not None and self._now() >= self._renew_at:
            self._start()  # while what we have still holds, nobody waits for the new
            if self._expires is not None and self._now() >= self._expires:
                return None
        return self._header

    async def renew(self, refused: str | None) -> bool:
        """Run the child again, unless somebody just did. True when there is something new to try."""
        if refused is not None:
            if refused != self._header:
                return True
            if self._renewal is None and self._clock() - self._taken_at < PACE:
                return False
        # shield: one request that gives up waiting does not take the renewal away from the others.
        return await asyncio.shield(self._start())

    def _start(self) -> "asyncio.Task[bool]":
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._run(), name="credentials")
            self._renewal.add_done_callback(self._done)
        return self._renewal

    async def _run(self) -> bool:
        before = self._header, self._certificate
        found = await _ask_child(self._paths, self._context)
        certificate = found.get("certificate")
        if self._tls is not None and certificate != self._certificate:
            _present(self._tls, found)  # new connections show it
        self._certificate = certificate
        self._take(found)
        return before != (self._header, self._certificate)

    def _done(self, renewal: "asyncio.Task[bool]") -> None:
        self._renewal = None
        if not renewal.cancelled() and renewal.exception() is not None and self._renew_at is not None:
            self._renew_at = self._now() + PACE  # whoever waited has the problem; try again in a while

    def _take(self, found: dict[str, Any]) -> None:
        self._header = _line(found["authorization"]) if found.get("authorization") else ""
        self._expires = found.get("expires")
        self._renew_at = None if self._expires is None else self._expires - _early(self._expires - self._now())
        self._taken_at = self._clock()


def _early(life: float) -> float:
    return min(EARLY, max(life, 0.0) / 10)


def _line(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise Invalid(Reason.INVALID, "the credentials hold characters that no header may have")
    return f"Authorization: {value}\r\n"


def _tls(found: dict[str, Any]) -> ssl.SSLContext:
    """A context that trusts the cluster's CA (the system's when none is named) and shows our certificate. Raises Invalid."""
    try:
        context = ssl.create_default_context(cadata=found.get("ca") or None)
    except ssl.SSLError as error:
        raise Invalid(Reason.INVALID, "the certificate authority of the cluster is not a PEM certificate") from error
    # Python 3.13 asks of every CA what RFC 5280 asks; clusters whose CA lacks a key identifier work with kubectl, so with us.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if found.get("insecure"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if found.get("certificate"):
        _present(context, found)
    return context


def _present(context: ssl.SSLContext, found: dict[str, Any]) -> None:
    """Show this client certificate on connections from now on. The ssl module takes files only, so they exist for a moment."""
    with tempfile.TemporaryDirectory(prefix="copyhold-") as folder:
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        for path in (certificate, key):
            path.touch(mode=0o600)
            path.write_text(found.get(path.name) or "")
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise Invalid(Reason.INVALID, "the client certificate and its key are not PEM, or do not belong together") from error


def _no_password() -> str:
    raise ValueError("the key is encrypted")  # without this, OpenSSL would ask on the terminal


# The parent's half of the conversation.


async def _ask_child(paths: str, context: str | None) -> dict[str, Any]:
    """Run this module as a program. Its stdin and stderr are ours, so that an exec plugin can speak with the user."""
    # -P: the child must not import what happens to lie in the working directory.
    arguments = ("-P", "-c", _CHILD, _ROOT, paths, *(() if context is None else (context,)))
    process = await child.start(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(PATIENCE):
            answer, _ = await process.communicate()
    except TimeoutError as error:
        raise Unavailable(f"kubeconfig: no credentials after {PATIENCE:g} s; does the exec plugin wait for something?") from error
    finally:
        await child.end(process)
    try:
        found: dict[str, Any] = json.loads(answer)
    except json.JSONDecodeError as error:
        raise Unavailable(f"kubeconfig: the process that reads it ended with code {process.returncode}") from error
    if "unavailable" in found:
        raise Unavailable(found["unavailable"])
    if "invalid" in found:
        raise Invalid(Reason.INVALID, found["invalid"])
    return found


# The child's half.


def main() -> None:
    """Read the kubeconfig named by the first argument (context: the second) and answer JSON on stdout."""
    answers, sys.stdout = sys.stdout, _Terminal()
    # With a user at the terminal a plugin writes to it directly; without, the loader logs what it wrote, and that should be seen.
    logging.basicConfig(format="%(message)s", level=logging.CRITICAL if sys.stdout.isatty() else logging.ERROR)
    try:
        found = read(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    except Unavailable as problem:
        found = {"unavailable": problem.message}
    except Problem as problem:
        found = {"invalid": problem.message}
    json.dump(found, answers)
    answers.flush()


class _Terminal:
    """Stands for stdout: tells the loader whether a user sits there, by stdin, because stdout is the pipe to our parent."""

    def isatty(self) -> bool:
        return sys.stdin is not None and sys.stdin.isatty()

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def read(paths: str, context: str | None) -> dict[str, Any]:
    """What a kubeconfig says, with the contents of the files that it names. Runs its exec plugin. Raises Invalid, Unavailable."""
    kube: Any = importlib.import_module("kubernetes.config.kube_config")  # heavy: only the child pays for it
    try:
        files = kube.KubeConfigMerger(paths)
        if files.config is None:
            remedy = "name one by --kubeconfig or KUBECONFIG, or run in a cluster with a ServiceAccount"
            raise Invalid(Reason.INVALID, f"there is no kubeconfig at {paths}; {remedy}")
        context = context or _current(files.config_files)
        loader = kube.KubeConfigLoader(files.config, context, config_base_path=None, config_persister=files.save_changes)
        user = _named(files.config, loader.current_context, "user")
        _refuse(paths, user, _named(files.config, loader.current_context, "cluster"))
        settings = SimpleNamespace(api_key={})
        loader.load_and_set(settings)
        home = loader.current_context["context"].get("namespace")
        return _found(paths, user, settings, getattr(loader, "expiry", None)) | ({"namespace": home} if home else {})
    except kube.ConfigException as error:
        raise Invalid(Reason.INVALID, f"kubeconfig {paths}: {error}") from error
    except OSError as error:
        raise Invalid(Reason.INVALID, f"kubeconfig {paths}: {error.filename}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        # The loader's own stumbling over what is no kubeconfig; its words may quote the file.
        raise Invalid(Reason.INVALID, f"kubeconfig {paths}: not a valid kubeconfig ({type(error).__name__})") from error


def _current(files: dict[str, Any]) -> str:
    """The current context: of several files the first that names one decides, as with kubectl."""
    named = (config.get("current-context") for config in files.values())
    try:
        return next(str(name) for name in named if name)
    except StopIteration:
        remedy = "choose one by --context, or by `kubectl config use-context`"
        raise Invalid(Reason.INVALID, f"the kubeconfig has no current context; {remedy}") from None


def _refuse(paths: str, user: dict[str, Any], cluster: dict[str, Any]) -> None:
    """What the loader or we would leave out must not be left out in silence: `as` lowers rights on purpose."""
    if any(key in user for key in ("as", "as-uid", "as-groups", "as-user-extra")):
        remedy = "use credentials of that account itself"
        raise Invalid(Reason.INVALID, f"kubeconfig {paths}: impersonation (`as`) is not supported here; {remedy}")
    if cluster.get("proxy-url"):
        remedy = "use an address that is reached directly"
        raise Invalid(Reason.INVALID, f"kubeconfig {paths}: `proxy-url` is not supported; {remedy}")


def _named(config: Any, context: dict[str, Any], what: str) -> dict[str, Any]:
    """The `user` or `cluster` of a context; empty when there is none."""
    name = context["context"].get(what)
    entry = config[f"{what}s"].get_with_name(name, safe=True) if name else None
    found = entry.value.get(what) if entry is not None else None
    return found if isinstance(found, dict) else {}


def _found(paths: str, user: dict[str, Any], settings: Any, expiry: Any) -> dict[str, Any]:
    if any(key in user for key in ("as", "as-uid", "as-groups", "as-user-extra")):
        remedy = "use credentials of the account itself"
        raise Invalid(
            Reason.INVALID, f"kubeconfig {paths}: the user impersonates another (`as`), which is not supported; {remedy}"
        )
    if getattr(settings, "proxy", None):
        raise Invalid(
            Reason.INVALID, f"kubeconfig {paths}: `proxy-url` is not supported; use an address that is reached directly"
        )
    authorization = settings.api_key.get("BearerToken") or settings.api_key.get("authorization")
    certificate = getattr(settings, "cert_file", None)
    if "exec" in user and not authorization and not certificate:
        command = (user["exec"] or {}).get("command")
        raise Unavailable(f"kubeconfig {paths}: the exec plugin {command!r} gave no credentials; run it by hand to see why")
    return {
        "server": getattr(settings, "host", ""),
        "server_name": getattr(settings, "tls_server_name", None),
        "insecure": getattr(settings, "verify_ssl", True) is False,
        "ca": _content(getattr(settings, "ssl_ca_cert", None), "certificate authority"),
        "certificate": _content(certificate, "client certificate"),
        "key": _content(getattr(settings, "key_file", None), "client key"),
        "authorization": authorization.strip() if authorization else None,
        "expires": expiry.timestamp() if expiry is not None else None,
    }


def _content(path: str | None, what: str) -> str | None:
    if not path:
        return None
    text = Path(path).read_text()
    if not text.strip():  # data that is no base64 comes out of the loader as nothing
        raise Invalid(Reason.INVALID, f"kubeconfig: the {what} is empty or not base64")
    return text


if __name__ == "__main__":
    main()
