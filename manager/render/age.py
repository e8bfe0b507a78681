"""An age identity: an X25519 key (RFC 7748) in the Bech32 clothes of age (age-encryption.org/v1, "X25519 recipient stanza").

Thirty lines instead of a library of 10 MB in every worker. Not constant in time, which matters for a key that is used here
once, to compute its own public half.
"""

import secrets

_PRIME = (1 << 255) - 19
_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def age_key() -> dict[str, str]:
    """A new key pair: `identity` (`AGE-SECRET-KEY-1...`, secret) and `recipient` (`age1...`, public)."""
    secret = secrets.token_bytes(32)
    return {
        "identity": bech32("age-secret-key-", secret).upper(),
        "recipient": bech32("age", x25519(secret, (9).to_bytes(32, "little"))),
    }


def x25519(secret: bytes, point: bytes) -> bytes:
    """Scalar multiplication on Curve25519 by the Montgomery ladder (RFC 7748, section 5). Both arguments have 32 bytes."""
    scalar = int.from_bytes(secret, "little") & ~7 & ((1 << 255) - 1) | 1 << 254
    start = int.from_bytes(point, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3 = 1, 0, start, 1
    for position in range(254, -1, -1):
        bit = scalar >> position & 1
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        plus, minus = x2 + z2, x2 - z2
        cross, other = (x3 - z3) * plus % _PRIME, (x3 + z3) * minus % _PRIME
        square, rest = plus * plus % _PRIME, minus * minus % _PRIME
        x3, z3 = (cross + other) ** 2 % _PRIME, start * (cross - other) ** 2 % _PRIME
        x2, z2 = square * rest % _PRIME, (square - rest) * (square + 121665 * (square - rest)) % _PRIME
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, _PRIME - 2, _PRIME) % _PRIME).to_bytes(32, "little")


def bech32(prefix: str, data: bytes) -> str:
    """The Bech32 text of BIP 173, without its length limit, as age uses it. `prefix` in lower case."""
    bits, width = int.from_bytes(data, "big"), len(data) * 8
    padding = -width % 5
    bits, width = bits << padding, width + padding
    words = [bits >> shift & 31 for shift in range(width - 5, -1, -5)]
    head = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    check = _polymod([*head, *words, 0, 0, 0, 0, 0, 0]) ^ 1
    return prefix + "1" + "".join(_ALPHABET[word] for word in [*words, *(check >> 5 * (5 - i) & 31 for i in range(6))])


def _polymod(words: list[int]) -> int:
    check = 1
    for word in words:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ word
        for index, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            if top >> index & 1:
                check ^= generator
    return check
