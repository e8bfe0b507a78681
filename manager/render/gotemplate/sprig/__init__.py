"""The functions of sprig v3 for templates: those that need neither environment, nor network, nor files.

Time and random bytes come from the execution's `Context`. What Go calls local time is UTC.
"""

from types import MappingProxyType
from typing import Final

from manager.render.gotemplate.function import Functions
from manager.render.gotemplate.sprig import (
    ciphers,
    dates,
    defaults,
    dicts,
    encoding,
    jsontext,
    lists,
    numbers,
    paths,
    randoms,
    regexes,
    semvers,
    strings,
    urls,
)

_MODULES: Final = (
    *(ciphers, dates, defaults, dicts, encoding, jsontext, lists),
    *(numbers, paths, randoms, regexes, semvers, strings, urls),
)

FUNCTIONS: Final[Functions] = MappingProxyType({name: each for module in _MODULES for name, each in module.FUNCTIONS.items()})

_ENVIRONMENT: Final = "reads the environment of the process"
_KEYS: Final = "keys come from the random source of the library, not from that of the execution"
_BCRYPT: Final = "there is no bcrypt among the libraries"

ABSENT: Final = MappingProxyType(
    {
        "env": _ENVIRONMENT,
        "expandenv": _ENVIRONMENT,
        "getHostByName": "asks the network",
        "bcrypt": _BCRYPT,
        "htpasswd": _BCRYPT,
        "genPrivateKey": _KEYS,
        "genCA": _KEYS,
        "genCAWithKey": _KEYS,
        "genSelfSignedCert": _KEYS,
        "genSelfSignedCertWithKey": _KEYS,
        "genSignedCert": _KEYS,
        "genSignedCertWithKey": _KEYS,
        "buildCustomCert": "its only use is to sign with it",
    }
)
"""Functions of sprig that are left out on purpose, each with the reason."""

__all__ = ["ABSENT", "FUNCTIONS"]
