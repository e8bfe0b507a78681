"""Rendezvous hashing: every replica gives the same answer, and a change of members moves only what it must."""

from hypothesis import given
from hypothesis import strategies as st

from policy.members import owner, shard_of, stable_hash

MEMBERS = st.lists(st.text("abcdef-0123456789", min_size=1, max_size=12), unique=True, min_size=1, max_size=6)


def test_a_hash_is_the_same_in_every_process():
    """The value is written down: another one would move every parent and lose every shard."""
    assert (stable_hash("team-a"), stable_hash("")) == (10175359681660534374, 16476032584258269876)


def test_nobody_owns_a_shard_without_members():
    """There is no owner when there are no members."""
    assert owner(0, []) is None


@given(MEMBERS, st.integers(0, 15), st.randoms())
def test_the_order_of_members_does_not_matter(members, shard, random):
    """Two replicas that list the members differently agree."""
    shuffled = random.sample(members, len(members))
    assert owner(shard, shuffled) == owner(shard, members)


@given(MEMBERS, st.integers(0, 15), st.data())
def test_a_member_that_leaves_moves_only_its_own_shards(members, shard, data):
    """The owner of a shard changes only when that owner leaves."""
    leaver = data.draw(st.sampled_from(members))
    before, after = owner(shard, members), owner(shard, [member for member in members if member != leaver])
    assert before == leaver or after == before


def test_shards_are_spread_over_members_and_parents_over_shards():
    """No member and no shard is left without work among many."""
    members = [f"manager-{n}" for n in range(4)]
    assert {owner(shard, members) for shard in range(64)} == set(members)
    assert {shard_of(f"00000000-0000-0000-0000-{n:012}", 4) for n in range(64)} == {0, 1, 2, 3}
