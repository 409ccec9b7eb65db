"""UUIDs of version 4 (RFC 9562 section 5.4)."""

import copy
import json
import pickle
import uuid

import squall
from helpers import repeated


def test_version_and_variant():
    for _ in range(500):
        one = squall.uuid4()
        assert one.version == 4
        assert one.variant == uuid.RFC_4122
        assert one.is_safe is uuid.SafeUUID.unknown


def test_all_other_bits_are_random():
    ones, zeros = 0, 2**128 - 1
    for _ in range(200):
        ones |= squall.uuid4().int
        zeros &= squall.uuid4().int
    fixed = 0xF << 76 | 0x3 << 62
    assert ones == (2**128 - 1) & ~fixed | 0x4 << 76 | 0x2 << 62
    assert zeros == 0x4 << 76 | 0x2 << 62


def test_none_repeats():
    assert not repeated(squall.uuid4() for _ in range(50_000))


def test_it_is_as_one_of_the_module_uuid():
    one = squall.uuid4()
    same = uuid.UUID(str(one))
    assert type(one) is uuid.UUID
    assert one == same and hash(one) == hash(same) and one != squall.uuid4()
    assert one.bytes == same.bytes and one.hex == same.hex and one.fields == same.fields
    assert repr(one) == repr(same)
    assert {one: "found"}[same] == "found"
    assert sorted([one, uuid.UUID(int=0)])[1] is one
    assert json.dumps({"id": str(one)}) == json.dumps({"id": str(same)})


def test_copies_are_equal():
    one = squall.uuid4()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(one, protocol)) == one
    assert copy.copy(one) == copy.deepcopy(one) == one
