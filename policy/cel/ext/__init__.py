"""The libraries beyond the standard functions: cel-go's extensions and those of Kubernetes, a file each."""

from policy.cel.ext import (
    authorizer,
    cidr,
    encoders,
    formats,
    ip,
    jsonpatch,
    lists,
    math,
    quantity,
    regex,
    semver,
    sets,
    strings,
    url,
)
from policy.cel.library import Library

LIBRARIES: tuple[Library, ...] = (
    authorizer.LIBRARY,
    cidr.LIBRARY,
    encoders.LIBRARY,
    formats.LIBRARY,
    ip.LIBRARY,
    jsonpatch.LIBRARY,
    lists.LIBRARY,
    math.LIBRARY,
    quantity.LIBRARY,
    regex.LIBRARY,
    semver.LIBRARY,
    sets.LIBRARY,
    strings.LIBRARY,
    url.LIBRARY,
)
"""All of them, in the order of their names."""
