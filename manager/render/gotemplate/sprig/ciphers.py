"""Checksums, AES, and passwords derived from a master password."""

import base64
import binascii
import hashlib
import hmac
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from manager.render.gotemplate.bounds import Budget
from manager.render.gotemplate.errors import CallError
from manager.render.gotemplate.function import Context, Function, Functions
from manager.render.gotemplate.sprig.encoding import decode64
from manager.render.gotemplate.sprig.table import STRING, UINT32, growing, plain
from manager.render.gotemplate.value import encoded, string

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

_BLOCK: Final = 16
_KEY: Final = 32


def _sha1(text: str) -> str:
    return hashlib.sha1(encoded(text), usedforsecurity=False).hexdigest()


def _sha256(text: str) -> str:
    return hashlib.sha256(encoded(text)).hexdigest()


def _sha512(text: str) -> str:
    return hashlib.sha512(encoded(text)).hexdigest()


def _adler32(text: str) -> str:
    return str(zlib.adler32(encoded(text)))


def _cipher(password: str, vector: bytes) -> "Cipher[modes.CBC]":
    """AES-256; the key is the password, cut off or filled up with zeros."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # with the first use: most templates have none

    return Cipher(algorithms.AES(encoded(password)[:_KEY].ljust(_KEY, b"\0")), modes.CBC(vector))


def encrypted(context: Context, password: str, text: str) -> str:
    """The text under AES-256 in CBC mode with a random vector in front, in Base64."""
    if not text:
        return ""
    data = encoded(text)
    context.budget.take(2 * len(data))
    padding = _BLOCK - len(data) % _BLOCK
    vector = context.bytes(_BLOCK)
    encryptor = _cipher(password, vector).encryptor()
    made = encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()
    return base64.b64encode(vector + made).decode()


def decrypted(password: str, text: str) -> str:
    """The text behind that."""
    if not text:
        return ""
    try:
        data = base64.b64decode(encoded(text).translate(None, b"\r\n"), validate=True)
    except binascii.Error:
        raise CallError(decode64(text)) from None  # the words of Go's error
    if len(data) < _BLOCK:
        raise CallError(f"runtime error: slice bounds out of range [:{_BLOCK}] with capacity {len(text) // 4 * 3}")
    if len(data) % _BLOCK:
        raise CallError("crypto/cipher: input not full blocks")
    decryptor = _cipher(password, data[:_BLOCK]).decryptor()
    made = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
    if not made:
        raise CallError("runtime error: index out of range [-1]")
    end = len(made) - made[-1]
    if end < 0:
        raise CallError(f"runtime error: slice bounds out of range [:{end}]")
    return string(made[:end])


# The password templates of Master Password, and the characters that their letters stand for.
_SEED: Final = b"com.lyndir.masterpassword"
_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "maximum": ("anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"),
    "long": (
        *("CvcvnoCvcvCvcv", "CvcvCvcvnoCvcv", "CvcvCvcvCvcvno", "CvccnoCvcvCvcv", "CvccCvcvnoCvcv", "CvccCvcvCvcvno"),
        *("CvcvnoCvccCvcv", "CvcvCvccnoCvcv", "CvcvCvccCvcvno", "CvcvnoCvcvCvcc", "CvcvCvcvnoCvcc", "CvcvCvcvCvccno"),
        *("CvccnoCvccCvcv", "CvccCvccnoCvcv", "CvccCvccCvcvno", "CvcvnoCvccCvcc", "CvcvCvccnoCvcc", "CvcvCvccCvccno"),
        *("CvccnoCvcvCvcc", "CvccCvcvnoCvcc", "CvccCvcvCvccno"),
    ),
    "medium": ("CvcnoCvc", "CvcCvcno"),
    "short": ("Cvcn",),
    "basic": ("aaanaaan", "aannaaan", "aaannaaa"),
    "pin": ("nnnn",),
}
_LETTERS: Final = "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz"
_CHARACTERS: Final[Mapping[str, str]] = {
    "V": "AEIOU",
    "C": "BCDFGHJKLMNPQRSTVWXYZ",
    "v": "aeiou",
    "c": "bcdfghjklmnpqrstvwxyz",
    "a": _LETTERS,
    "n": "0123456789",
    "o": "@&%?,=[]_:-+*$#!'^~;()/.",
    "x": _LETTERS + "0123456789!@#$%^&*()",
}
_DERIVING: Final = 200_000  # steps: it takes as long as so many


def derived(budget: Budget, counter: int, form: str, password: str, user: str, site: str) -> str:
    """The password of a site by the rules of Master Password."""
    templates = _TEMPLATES.get(form)
    if templates is None:
        return f"cannot find password template {form}"
    budget.step(_DERIVING)
    key = hashlib.scrypt(encoded(password), salt=_SEED + _counted(user), n=32768, r=8, p=2, maxmem=1 << 27, dklen=64)
    seed = hmac.digest(key, _SEED + _counted(site) + counter.to_bytes(4, "big"), "sha256")
    template = templates[seed[0] % len(templates)]
    classes = (_CHARACTERS[letter] for letter in template)
    return "".join(characters[byte % len(characters)] for characters, byte in zip(classes, seed[1:], strict=False))


def _counted(text: str) -> bytes:
    data = encoded(text)
    return len(data).to_bytes(4, "big") + data


FUNCTIONS: Functions = {
    function.name: function
    for function in (
        plain("sha1sum", _sha1, STRING),
        plain("sha256sum", _sha256, STRING),
        plain("sha512sum", _sha512, STRING),
        plain("adler32sum", _adler32, STRING),
        Function("encryptAES", encrypted, (STRING, STRING)),
        plain("decryptAES", decrypted, STRING, STRING),
        growing("derivePassword", derived, UINT32, STRING, STRING, STRING, STRING),
    )
}
