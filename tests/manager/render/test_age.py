"""Age keys against the published vectors of RFC 7748 and BIP 173."""

from manager.render.age import age_key, bech32, x25519


def test_x25519_gives_the_results_of_the_rfc() -> None:
    """RFC 7748, sections 5.2 and 6.1."""
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    assert x25519(scalar, point).hex() == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    assert x25519(alice, (9).to_bytes(32, "little")).hex() == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"


def test_the_ladder_holds_over_a_thousand_steps() -> None:
    """RFC 7748, section 5.2: the result after one step is the next scalar, the scalar the next point."""
    scalar = point = (9).to_bytes(32, "little")
    for _ in range(1000):
        scalar, point = x25519(scalar, point), scalar
    assert scalar.hex() == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"


def test_bech32_gives_the_text_of_the_standard() -> None:
    """BIP 173 without its version byte: the data part of 32 ascending words."""
    words = int("".join(f"{word:05b}" for word in range(32)), 2).to_bytes(20, "big")
    assert bech32("abcdef", words) == "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"


def test_a_key_pair_has_the_form_that_age_reads() -> None:
    """Two calls give two keys."""
    first, second = age_key(), age_key()
    assert first["identity"].startswith("AGE-SECRET-KEY-1")
    assert (len(first["identity"]), len(first["recipient"])) == (74, 62)
    assert first["recipient"].startswith("age1")
    assert first != second
