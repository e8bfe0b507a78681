"""Who should work on what: the rendezvous hash that shares the shards among the live members."""

from collections.abc import Iterable
from hashlib import blake2b


def stable_hash(text: str) -> int:
    """A 64-bit hash that is the same in every process and version (the built-in `hash` of a string is salted per process)."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def shard_of(uid: str, shards: int) -> int:
    """The shard (0 <= shard < `shards`) that a parent belongs to, by its UID."""
    return stable_hash(uid) % shards


def owner(shard: int, members: Iterable[str]) -> str | None:
    """The member that should have `shard`: the one with the highest hash, so that a member that leaves moves only its own shards.

    None when there are no members. The order of `members` does not matter.
    """
    return max(members, key=lambda member: (stable_hash(f"{shard}/{member}"), member), default=None)
