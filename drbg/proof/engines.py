"""What is proved of each engine."""

import z3

from binary import Unproved
from explore import RETURN, Explorer, written_front
from machine import HIGH, LENGTH, LOW, MIX, OUT, SUB, X86, Region, bits, cut, equal, from_bytes, known, swap, to_bytes

# Each engine, and the bytes of its vectors.
ENGINES = {"aesni": 16, "vaes256": 32, "vaes512": 64}
KEYS = [z3.BitVec(f"key{number}", 128) for number in range(15)]
# The block that was in `out` before, for what XORs keystream into it.
BEFORE = z3.Function("before", z3.BitVecSort(64), z3.BitVecSort(128))
V = z3.Concat(HIGH, LOW)
STREAMING, KEY, STACK = z3.BitVecs("streaming keys stack", 64)
# A slice is shorter than 2^63 bytes, and ends at most at the end of the address space (the Rust reference, "Dynamically sized
# types"); its end is not written as out + len, which may be 2^64.
SLICE = [z3.ULT(LENGTH, 1 << 63), z3.Or(LENGTH == 0, z3.ULE(LENGTH - 1, ~OUT))]


def no_carry(low, length):
    """The promise of callers: the low 64 bits of the counter do not overflow before the last of `length` bytes' blocks."""
    return z3.Or(length == 0, z3.ULE(low, ~z3.LShR(length - 1, 4)))


def read_keys(state, at):
    if not 0 <= at < 16 * len(KEYS):
        raise Unproved(f"byte {at} of the round keys is read")
    return KEYS[at // 16], 16, at % 16


def is_xor(term):
    return not isinstance(term, int) and term.decl().kind() == z3.Z3_OP_BXOR and term.num_args() == 2


def apart(term, part, error):
    """The other operand of an XOR of which `part` is one."""
    if is_xor(term):
        for i in (0, 1):
            if term.arg(i).eq(part):
                return term.arg(1 - i)
    raise Unproved(error)


def is_call(term, function):
    return not isinstance(term, int) and term.decl().eq(function)


def encrypted(term, rounds):
    """The block of which `term` is the encryption by so many rounds (FIPS 197 section 5.1)."""
    for number in range(rounds, 0, -1):
        term = apart(term, KEYS[number], f"round {number} of {rounds} does not add key {number}")
        if number < rounds:
            if not is_call(term, MIX):
                raise Unproved(f"round {number} of {rounds} has no MixColumns")
            term = term.arg(0)
        if not is_call(term, SUB):
            raise Unproved(f"round {number} of {rounds} has no SubBytes and ShiftRows")
        term = term.arg(0)
    return apart(term, KEYS[0], "what goes into the first round is not a block and key 0")


class Output:
    """`out`, of which each byte must be written once: the keystream's, or its XOR with what was there."""

    def __init__(self, rounds, xors):
        self.rounds, self.xors = rounds, xors

    def read(self, state, at):
        if not self.xors or at < 0 or at in state.written:
            raise Unproved(f"byte {at} of out is read")
        if not state.proves(z3.UGT(LENGTH, at)):
            raise Unproved("bytes behind out are read")
        return BEFORE(z3.BitVecVal(at // 16, 64)), 16, at % 16

    def write(self, state, at, values):
        if at < 0 or not state.proves(z3.UGE(LENGTH, at + len(values))):
            raise Unproved("bytes outside of out are written")
        for number in range(at, at + len(values)):
            if number in state.written:
                raise Unproved(f"byte {number} is written twice")
            state.written[number] = True
        blocks = {}
        for number, value in enumerate(values, at):
            blocks.setdefault(number // 16, []).append((number % 16, value))
        for number, group in blocks.items():
            self.check(state, number, group)

    def check(self, state, block, group):
        lane = group[0][1][0]
        if any(v is not lane or size != 16 or number != place for place, (v, size, number) in group):
            raise Unproved("bytes that are written are not those of one block in their order")
        lane = bits(lane, 128)
        if self.xors:
            lane = self.without_before(state, block, [place for place, _ in group], lane)
        plain = encrypted(lane, self.rounds)
        if not state.proves(bits(swap(plain, 16), 128) == V + block, *state.promises):
            raise Unproved("a block is not the encryption of its counter")

    @staticmethod
    def without_before(state, block, places, lane):
        """The keystream in what is written: the lane without what was in these bytes of `out` before."""
        before = BEFORE(z3.BitVecVal(block, 64))
        for i in (0, 1) if is_xor(lane) else ():
            part, other = lane.arg(i), lane.arg(1 - i)
            if all(equal(cut(part, 8 * at, 8), cut(before, 8 * at, 8), 8) is True for at in places):
                return other
        raise Unproved("what is written is not the XOR of keystream and what was there")


def finish(state):
    """At the return: everything is written, and the registers that belong to the caller have their values."""
    if not state.proves(LENGTH == written_front(state)):
        raise Unproved("not every byte is written")
    at_return(state)


def at_return(state):
    for name, value in state.entry.items():
        if name not in state.registers or not state.proves(bits(state.registers[name], 64) == bits(value, 64)):
            raise Unproved(f"{name} is not the caller's at the return")


def begin(image, facts, promises, arguments, on_stack=(), **regions):
    """The state at the entry of a function. Symbols that it may not depend on are in the other registers."""
    words = {0: RETURN, **{8 * i: value for i, value in enumerate(on_stack, 1)}}

    def read_stack(state, at):
        if at & ~7 not in words:
            raise Unproved(f"the caller's stack is read at {at}")
        return words[at & ~7], 8, at % 8

    state = X86(image, [*facts, STACK & 15 == 8], promises, {"stack": Region(STACK, read_stack), **regions})
    state.registers = {name: z3.BitVec(name, 64) for name in (*X86.arguments, *X86.saved)}
    state.registers.update(zip(X86.arguments, arguments), rsp=STACK)
    state.entry = {name: state.registers[name] for name in X86.saved} | {"rsp": known(STACK + 8)}
    return state


def memcpy(state):
    state.copy_memory(*(state.registers[name] for name in X86.arguments[:3]))
    return state.after_call()


def prove_run(image, address, rounds, width):
    """The loop: for every key, counter, address and length, and both kinds of stores."""
    output = Output(rounds, False)
    streams_aligned = z3.Or(STREAMING == 0, LENGTH == 0, OUT & (width - 1) == 0)
    state = begin(image, [*SLICE, z3.ULE(STREAMING, 1), streams_aligned, KEY & 15 == 0], [no_carry(LOW, LENGTH)],
                  (KEY, LOW, HIGH, OUT, LENGTH, STREAMING),
                  keys=Region(KEY, read_keys), out=Region(OUT, None, output.write))
    Explorer(image, {"memcpy": memcpy}, finish).run(state, address)


def give(state, width, key, low, high, out, length, streaming):
    """A part of the output is given to a function that keeps its promise: `state.given` bytes were before."""
    at, end = out - OUT, state.given
    state.given = bits(known(at + length), 64)
    for condition, error in (
            (z3.And(at == end, key == state.key), "parts of out are not next to each other, or another key is used"),
            (z3.And(z3.ULE(at, LENGTH), z3.ULE(length, LENGTH - at)), "a part is too long"),
            (z3.Or(length == 0, z3.And(at & 15 == 0, z3.Concat(high, low) == V + z3.ZeroExt(64, z3.LShR(at, 4)))),
             "a part begins with the wrong counter"),
            (no_carry(low, length), "the low half of the counter may overflow within a part"),
            (z3.And(z3.ULE(streaming, 1), z3.Or(streaming == 0, length == 0, out & (width - 1) == 0)),
             "a part with streaming stores is not aligned")):
        if not state.proves(condition, *state.promises):
            raise Unproved(error)


def all_given(state):
    if not state.proves(state.given == LENGTH):
        raise Unproved("not all of out is given on")
    at_return(state)


def prove_keystream(image, engine, rounds, width):
    """The parts before and behind the first aligned block. Returns the loop that they are given to."""
    called = set()

    def run(state):
        called.add(state.pc)
        give(state, width, *(bits(state.registers[name], 64) for name in X86.arguments))
        return state.after_call()

    state = begin(image, [*SLICE, z3.ULE(STREAMING, 1)], [no_carry(LOW, LENGTH)],
                  (KEY, rounds, LOW, HIGH, OUT, LENGTH), [STREAMING])
    state.given, state.key = z3.BitVecVal(0, 64), KEY
    loops = {name: run for name in image.symbols if f"{len(engine)}{engine}3run" in name}
    Explorer(image, loops, all_given).run(state, image.find(engine, "keystream"))
    if len(called) != 1:
        raise Unproved(f"keystream gives {rounds} rounds to {len(called)} loops")
    return called.pop()


def prove_split(image, rounds):
    """`ExpandedKey::keystream`, for every counter: the parts within which the low half does not overflow, each given to the
    engine that the key is for."""
    fields, panics, chosen = {}, [], {}
    size = 128 if rounds == 10 else 256

    def read_key(state, at):
        return fields.setdefault(at, z3.BitVec(f"field{at}", 8)), 1, 0

    def keystream(number):
        def call(state):
            key, given_rounds, low, high, out, length = (bits(state.registers[name], 64) for name in X86.arguments)
            stores = state.load(state.registers["rsp"] + 8, 1)
            give(state, 1, key, low, high, out, length, z3.ZeroExt(56, bits(stores, 8)))
            if not state.proves(z3.And(given_rounds == rounds, bits(stores, 8) == z3.Extract(7, 0, STREAMING))):
                raise Unproved("the number of rounds or the kind of stores is another")
            is_chosen = {at for at, field in fields.items() if state.proves(field == engines[number])}
            chosen[number] = chosen.get(number, is_chosen) & is_chosen
            return state.after_call()
        return call

    def panic(state):
        panics.append(state)
        return True, RETURN

    def at_end(state):
        if not any(state is other for other in panics):
            all_given(state)

    engines = image.bytes(image.symbols["PROBE_ENGINES"], len(ENGINES))
    # Where the keys are; not 0 if the key is for AES instructions.
    state = begin(image, [], [], [KEY], key=Region(KEY, read_key))
    place = []
    Explorer(image, {}, lambda state: place.append(state.registers["rax"])).run(state, image.symbols[f"probe_keys_{size}"])
    state = begin(image, [*SLICE, z3.ULE(STREAMING, 1), place[0] != 0], [], (KEY, LOW, HIGH, OUT, LENGTH, STREAMING),
                  key=Region(KEY, read_key))
    state.given, state.key = z3.BitVecVal(0, 64), place[0]
    hooks = {name: panic for name in image.symbols if "panicking" in name}
    for number, engine in enumerate(ENGINES):
        hooks[image.names[image.find(engine, "keystream")]] = keystream(number)
    Explorer(image, hooks, at_end).run(state, image.symbols[f"probe_{size}"])
    kinds = set.intersection(*chosen.values()) if len(chosen) == len(ENGINES) else set()
    if len(kinds) != 1:
        raise Unproved("the field that chooses the engine is not clear, or one is never chosen")
    kind = fields[kinds.pop()]
    for state in panics:
        if not state.proves(z3.And(*(kind != engine for engine in engines))):
            raise Unproved("a key for an engine leads to a panic")


def prove_cached(image):
    """The loop that XORs keystream under a cached schedule, with carries."""
    output = Output(14, True)
    state = begin(image, SLICE, [], (KEY, LOW, HIGH, OUT, LENGTH),
                  keys=Region(KEY, read_keys), out=Region(OUT, output.read, output.write))
    Explorer(image, {"memcpy": memcpy}, finish).run(state, image.find("cached_schedule", "xor_keystream_aesni"))


BOX = z3.Function("SubBytes", z3.BitVecSort(8), z3.BitVecSort(8))
RCON = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36


def sub_word(word):
    return from_bytes([BOX(bits(byte, 8)) for byte in to_bytes(word, 4)])


def prove_schedule(image, words):
    """The expansion of a key of so many words (FIPS 197 section 5.2)."""
    key, written = [z3.BitVec(f"word{i}", 32) for i in range(words)], {}

    def read_key(state, at):
        if not 0 <= at < 4 * words:
            raise Unproved(f"byte {at} of the key is read")
        return key[at // 4], 4, at % 4

    def write(state, at, values):
        if at < 0 or at + len(values) > 240 or any(at + i in written for i in range(len(values))):
            raise Unproved(f"round keys are written at {at}, or twice")
        written.update(enumerate((cut(value, 8 * number, 8) for value, _, number in values), at))

    def sub(lane):
        columns = [cut(lane, 32 * i, 32) for i in range(4)]
        if not all(state.proves(bits(columns[0], 32) == bits(column, 32)) for column in columns[1:]):
            raise Unproved("AESENCLAST is given columns that differ")
        word = bits(sub_word(columns[0]), 32)
        return z3.Concat(word, word, word, word)

    source, to = z3.BitVecs("source to", 64)
    state = begin(image, [to & 15 == 0], [], (source, to), source=Region(source, read_key), to=Region(to, None, write))
    state.sub, state.logic_name = sub, "QF_UFBV"
    Explorer(image, {}, at_return).run(state, image.find("schedule", f"expand_{32 * words}_aesni"))
    # Words of four round keys more than a key has words (FIPS 197 section 5).
    count = 4 * (words + 7)
    if sorted(written) != list(range(4 * count)):
        raise Unproved("not all round keys are written, or more")
    got = [from_bytes([written[4 * i + j] for j in range(4)]) for i in range(count)]
    for i, word in enumerate(got):
        if i < words:
            right = key[i]
        else:
            right = bits(got[i - 1], 32)
            if i % words == 0:
                right = bits(sub_word(z3.RotateRight(right, 8)), 32) ^ RCON[i // words - 1]
            elif words > 6 and i % words == 4:
                right = bits(sub_word(right), 32)
            right = bits(got[i - words], 32) ^ right
        if not state.proves(bits(word, 32) == right):
            raise Unproved(f"word {i} of the schedule is wrong")


def prove_engine(image, engine, rounds):
    width = ENGINES[engine]
    prove_run(image, prove_keystream(image, engine, rounds, width), rounds, width)


# What is proved, by name.
CLAIMS = {
    **{f"{engine}/{size}": (prove_engine, engine, rounds) for engine in ENGINES for size, rounds in ((128, 10), (256, 14))},
    "cached": (prove_cached,),
    "split/128": (prove_split, 10), "split/256": (prove_split, 14),
    "schedule/128": (prove_schedule, 4), "schedule/256": (prove_schedule, 8),
}
