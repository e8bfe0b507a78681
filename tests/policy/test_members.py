"""Rendezvous hashing in even shares: every replica gives the same answer, and a change of members moves little."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from policy.members import owner, shard_of, stable_hash

MEMBERS = st.lists(st.text("abcdef-0123456789", min_size=1, max_size=12), unique=True, min_size=1, max_size=6)


def test_a_hash_is_the_same_in_every_process():
    """The value is written down: another one would move every parent and lose every shard."""
    assert (stable_hash("team-a"), stable_hash("")) == (10175359681660534374, 16476032584258269876)


def test_nobody_owns_a_shard_without_members():
    """There is no owner when there are no members."""
    assert owner(0, [], 4) is None


@given(MEMBERS, st.integers(0, 15), st.randoms())
def test_the_order_of_members_does_not_matter(members, shard, random):
    """Two replicas that list the members differently agree."""
    shuffled = random.sample(members, len(members))
    assert owner(shard, shuffled, 16) == owner(shard, members, 16)


@given(MEMBERS, st.integers(1, 16))
def test_every_shard_has_an_owner_and_nobody_has_two_more_than_another(members, shards):
    """The parents are shared, whatever the replicas are called."""
    counts = Counter(owner(shard, members, shards) for shard in range(shards))
    assert counts.keys() <= set(members)
    assert max(counts[member] for member in members) - min(counts[member] for member in members) <= 1


@given(st.lists(st.text("abcdef-0123456789", min_size=1, max_size=12), unique=True, min_size=2, max_size=2), st.data())
def test_the_second_member_takes_half_and_gives_it_back(members, data):
    """When one joins another, only the half moves that it gets; when it leaves, only that half moves back."""
    first = data.draw(st.sampled_from(members))
    kept = [shard for shard in range(4) if owner(shard, members, 4) == first]
    assert len(kept) == 2
    assert all(owner(shard, [first], 4) == first for shard in range(4))


def test_few_shards_move_when_a_member_leaves():
    """Of many, hardly more than its own: the hashes decide, and only the even share corrects them."""
    members = [f"manager-{n}" for n in range(5)]
    before = [owner(shard, members, 64) for shard in range(64)]
    after = [owner(shard, members[1:], 64) for shard in range(64)]
    moved = sum(was != now for was, now in zip(before, after, strict=True))
    assert before.count(members[0]) <= moved <= 2 * before.count(members[0])


def test_parents_are_spread_over_shards():
    """No shard is left without work among many parents."""
    assert {shard_of(f"00000000-0000-0000-0000-{n:012}", 4) for n in range(64)} == {0, 1, 2, 3}
