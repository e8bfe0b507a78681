"""The certificates of a cluster: a CA of its own, and one for the server that it signs anew at each start."""

import ssl
from datetime import UTC, datetime, timedelta

from manager.pki import Pair, authority, issued, serving

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
ADDRESSES = ("127.0.0.1", "::1")
LIFETIME = timedelta(days=3650)

Authority = Pair


def new_authority() -> Authority:
    """Make a CA. Certificates are judged by the real time, whatever clock a cluster has."""
    return authority("copyhold-ca", datetime.now(UTC), LIFETIME)


def server_context(authority: Authority) -> ssl.SSLContext:
    """What a server on loopback needs: a fresh key with a certificate of this CA."""
    made = issued(authority, "kube-apiserver", (*NAMES, *ADDRESSES), datetime.now(UTC), LIFETIME)
    return serving(made.certificate + authority.certificate, made.key)
