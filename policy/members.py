"""Who should work on what: the rendezvous hash that shares the shards evenly among the live members."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b


def stable_hash(text: str) -> int:
    """A 64-bit hash that is the same in every process and version (the built-in `hash` of a string is salted per process)."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def shard_of(uid: str, shards: int) -> int:
    """The shard (0 <= shard < `shards`) that a parent belongs to, by its UID."""
    return stable_hash(uid) % shards


def owner(shard: int, members: Iterable[str], shards: int) -> str | None:
    """The member that should have `shard`, one of `shards`; None when there are no members.

    Nobody has two shards more than another: with a few shards, the highest hash alone would leave one of two replicas without
    work every eighth time. Within that, the highest hashes decide, so that few shards move when a member comes or goes. The
    order of `members` does not matter.
    """
    return _owners(shards, tuple(sorted(members))).get(shard)


@lru_cache(maxsize=16)
def _owners(shards: int, members: tuple[str, ...]) -> Mapping[int, str]:
    """The owner of each shard: pairs from the highest hash downwards, as long as the member may have one more."""
    if not members:
        return {}
    pairs = [(stable_hash(f"{shard}/{member}"), member, shard) for member in members for shard in range(shards)]
    share, larger = divmod(shards, len(members))  # so many shards each, and so many members with one more
    count = dict.fromkeys(members, 0)
    found: dict[int, str] = {}
    for _, member, shard in sorted(pairs, reverse=True):
        if shard in found or count[member] > share or (count[member] == share and not larger):
            continue
        larger -= count[member] == share
        count[member] += 1
        found[shard] = member
    return found
