"""The state of a machine with symbolic values, and the instructions of x86-64.

A value is an int where it is known, else a bit-vector of z3. A vector register is a list of lanes of 128 bits. SubBytes with
ShiftRows, and MixColumns, are functions of which nothing is assumed. What this file does not know is an error."""

import z3

from binary import Unproved, Unsupported

SUB = z3.Function("SubBytes_ShiftRows", z3.BitVecSort(128), z3.BitVecSort(128))
MIX = z3.Function("MixColumns", z3.BitVecSort(128), z3.BitVecSort(128))
# What a function is given: the counter's halves, and the place and length of the output.
LOW, HIGH, OUT, LENGTH = z3.BitVecs("V_low V_high out len", 64)
ALL = {width: (1 << width) - 1 for width in (1, 8, 16, 32, 64, 128)}


def bits(value, width):
    """The value as a bit-vector."""
    return z3.BitVecVal(value, width) if isinstance(value, int) else value


def known(value):
    """The value, as an int if it is one."""
    if isinstance(value, int):
        return value
    value = z3.simplify(value)
    return value.as_long() if z3.is_bv_value(value) else value


def cut(value, low, width):
    """`width` bits of the value from bit `low` on."""
    if isinstance(value, int):
        return value >> low & ALL[width]
    return known(z3.Extract(low + width - 1, low, value)) if value.size() != width else value


def widen(value, old, new):
    return value if isinstance(value, int) or old == new else z3.ZeroExt(new - old, value)


def join(high, low, width):
    """Two halves of `width` bits."""
    if isinstance(high, int) and isinstance(low, int):
        return high << width | low
    return known(z3.Concat(bits(high, width), bits(low, width)))


def from_bytes(values):
    if all(isinstance(value, int) for value in values):
        return int.from_bytes(bytes(values), "little")
    values = [bits(value, 8) for value in reversed(values)]
    return known(z3.Concat(*values) if len(values) > 1 else values[0])


def to_bytes(value, size):
    return [cut(value, 8 * i, 8) for i in range(size)]


def swap(value, size):
    """The bytes in the opposite order."""
    return from_bytes(to_bytes(value, size)[::-1])


def plus(a, b, width):
    if isinstance(a, int) and isinstance(b, int):
        return a + b & ALL[width]
    return known(bits(a, width) + bits(b, width))


def minus(a, b, width):
    if isinstance(a, int) and isinstance(b, int):
        return a - b & ALL[width]
    return known(bits(a, width) - bits(b, width))


def xor(a, b, width=128):
    """In an order that does not depend on the program's."""
    if isinstance(a, int) and isinstance(b, int):
        return a ^ b
    if isinstance(a, int) and a == 0 or isinstance(b, int) and b == 0:
        return b if isinstance(a, int) and a == 0 else a
    a, b = bits(a, width), bits(b, width)
    if a.eq(b):
        return 0
    return a ^ b if a.get_id() < b.get_id() else b ^ a


def add_halves(a, b):
    return join(plus(cut(a, 64, 64), cut(b, 64, 64), 64), plus(cut(a, 0, 64), cut(b, 0, 64), 64), 64)


def holds(condition):
    """True or False, or what is to be decided."""
    if isinstance(condition, bool):
        return condition
    condition = z3.simplify(condition)
    return True if z3.is_true(condition) else False if z3.is_false(condition) else condition


def equal(a, b, width):
    return a == b if isinstance(a, int) and isinstance(b, int) else holds(bits(a, width) == bits(b, width))


def below(a, b, width):
    return a < b if isinstance(a, int) and isinstance(b, int) else holds(z3.ULT(bits(a, width), bits(b, width)))


def negated(condition):
    return not condition if isinstance(condition, bool) else z3.Not(condition)


def either(a, b):
    if a is True or b is True:
        return True
    return b if a is False else a if b is False else z3.Or(a, b)


class Fork(Exception):
    """The value must be known: the state is to be continued for each value that it can have."""

    def __init__(self, value):
        self.value = value


class Region:
    """Memory at a symbolic address: bytes are read and written as (value, its size, the byte's number in it)."""

    def __init__(self, base, read=None, write=None):
        self.base, self.read, self.write = base, read, write


class State:
    """Registers, memory, and what is known of the symbols: `path`."""

    def __init__(self, image, facts, promises, regions):
        self.image, self.path, self.regions = image, list(facts), regions
        # What holds at the entry, and what only the counters need.
        self.facts, self.promises = facts, promises
        # The cut where the path began, if not at the entry, and whether it is still there.
        self.origin, self.is_at_origin = None, False
        self.registers, self.vectors, self.masks, self.flags, self.stack = {}, {}, {}, {}, {}
        self.pc, self.sub = 0, SUB
        # Bytes of `out` that are written.
        self.written = {}

    # The solver's theory: bit-vectors.
    logic_name = "QF_BV"

    def copy(self):
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name in ("registers", "vectors", "masks", "flags", "stack", "written", "regions"):
            setattr(new, name, dict(getattr(self, name)))
        new.path = list(self.path)
        return new

    def check(self, *conditions):
        """Whether the conditions are possible here."""
        solver = z3.SolverFor(self.logic_name)
        solver.set("timeout", 60000)
        solver.add(*self.path, *conditions)
        answer = solver.check()
        if answer == z3.unknown:
            raise Unsupported("the solver gave up after a minute")
        return solver.model() if answer == z3.sat else None

    def proves(self, condition, *given):
        """Whether the condition holds here, and if what is given holds."""
        condition = holds(condition)
        return condition if isinstance(condition, bool) else self.check(*given, z3.Not(condition)) is None

    def place(self, address):
        """The region that the address is in, and where."""
        if isinstance(address, int):
            return None, address
        for name, region in self.regions.items():
            offset = known(address - region.base)
            if isinstance(offset, int):
                return name, offset - (1 << 64) if offset >> 63 else offset
        raise Unsupported(f"memory is accessed at {' '.join(str(address).split())[:90]}")

    def load(self, address, size):
        name, at = self.place(address)
        if name is None:
            if any(at + i not in self.image.memory for i in range(size)):
                raise Unproved(f"memory is read at {at:#x}, where nothing is")
            return int.from_bytes(self.image.bytes(at, size), "little")
        values = [self.load_byte(name, at + i) for i in range(size)]
        value, width, first = values[0]
        if width == size and first == 0 and all(v is value and w == size and n == i
                                                for i, (v, w, n) in enumerate(values)):
            return value
        return from_bytes([cut(v, 8 * n, 8) for v, _, n in values])

    def load_byte(self, name, at):
        if name == "stack" and at in self.stack:
            return self.stack[at]
        region = self.regions[name]
        if region.read is None:
            raise Unproved(f"byte {at} of {name} is read, which has not been written")
        return region.read(self, at)

    def store(self, address, value, size):
        self.store_bytes(address, [(value, size, i) for i in range(size)])

    def store_bytes(self, address, values):
        name, at = self.place(address)
        if name == "stack":
            if at + len(values) > 0 or at < -8192:
                raise Unproved(f"the stack is written {at} bytes from the return address")
            self.stack.update(enumerate(values, at))
        elif name is None or self.regions[name].write is None:
            raise Unproved(f"{name or 'a constant'} is written at {at}")
        else:
            self.regions[name].write(self, at, values)

    def copy_memory(self, to, source, size):
        """memcpy(3)."""
        if not isinstance(size, int):
            raise Fork(size)
        name, at = self.place(source)
        if name is None:
            values = [(self.image.memory[at + i], 1, 0) for i in range(size)]
        else:
            values = [self.load_byte(name, at + i) for i in range(size)]
        if values:
            self.store_bytes(to, values)

    def require_alignment(self, address, size):
        if not self.proves(bits(address, 64) & (size - 1) == 0):
            raise Unproved(f"an access that needs alignment to {size} bytes may be unaligned")


GENERAL = {}
for root, *names in (("rax", "eax", "ax", "al"), ("rbx", "ebx", "bx", "bl"), ("rcx", "ecx", "cx", "cl"),
                     ("rdx", "edx", "dx", "dl"), ("rsi", "esi", "si", "sil"), ("rdi", "edi", "di", "dil"),
                     ("rbp", "ebp", "bp", "bpl"), ("rsp", "esp", "sp", "spl"),
                     *((f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16))):
    for name, width in zip((root, *names), (64, 32, 16, 8)):
        GENERAL[name] = root, width

REG, IMM, MEM = 1, 2, 3


class X86(State):
    # System V ABI, AMD64, section 3.2: the stack pointer is 8 bytes below a multiple of 16 at the entry.
    arguments = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
    saved = ("rbx", "rbp", "r12", "r13", "r14", "r15")

    def operand_name(self, op):
        return self.instruction.reg_name(op.reg)

    def register(self, name):
        root, width = GENERAL[name]
        if root not in self.registers:
            raise Unproved(f"{root} is read, which a call may have changed")
        return cut(self.registers[root], 0, width)

    def address(self, op):
        """The address that a memory operand names."""
        mem, name = op.mem, self.instruction.reg_name
        if mem.segment:
            raise Unsupported(f"a segment register: {self.text()}")
        if mem.base and name(mem.base) == "rip":
            return self.instruction.address + self.instruction.size + mem.disp & ALL[64]
        address = mem.disp & ALL[64]
        if mem.base:
            address = plus(address, self.register(name(mem.base)), 64)
        if mem.index:
            index = self.register(name(mem.index))
            index = index * mem.scale & ALL[64] if isinstance(index, int) else known(index * mem.scale)
            address = plus(address, index, 64)
        return address

    def get(self, op):
        if op.type == IMM:
            return op.imm & ALL[8 * op.size]
        if op.type == MEM:
            return self.load(self.address(op), op.size)
        return self.register(self.operand_name(op))

    def set(self, op, value):
        if op.type == MEM:
            return self.store(self.address(op), value, op.size)
        root, width = GENERAL[self.operand_name(op)]
        if width < 32:
            value = known(z3.Concat(z3.Extract(63, width, bits(self.registers[root], 64)), bits(value, width)))
        self.registers[root] = widen(value, width, 64)

    def lanes(self, op, count=None):
        """The lanes of a vector operand."""
        if op.type == MEM:
            if op.size < 16:
                return [widen(self.load(self.address(op), op.size), 8 * op.size, 128)]
            start = self.address(op)
            return [self.load(plus(start, 16 * i, 64), 16) for i in range(op.size // 16)]
        name = self.operand_name(op)
        lanes = self.vectors.get(name[1:], [None])[:op.size // 16]
        if None in lanes:
            raise Unproved(f"{name} is read, which holds nothing known")
        return lanes

    def set_lanes(self, op, lanes):
        """Instructions that begin with v clear the rest of the register; the others keep it."""
        if op.type == MEM:
            start = self.address(op)
            for i, lane in enumerate(lanes):
                self.store(plus(start, 16 * i, 64), lane, 16)
            return
        name = self.operand_name(op)[1:]
        rest = [0, 0, 0, 0] if self.instruction.mnemonic.startswith("v") else self.vectors.get(name, [None] * 4)
        self.vectors[name] = lanes + rest[len(lanes):]

    def text(self):
        return f"{self.instruction.mnemonic} {self.instruction.op_str}"

    def condition(self, name):
        flags = {"b": "C", "e": "Z", "s": "S"}
        positive = {"ae": "b", "ne": "e", "ns": "s", "a": "be"}

        def flag(letter):
            if letter not in self.flags:
                raise Unproved(f"a flag is read that nothing has set: {self.text()}")
            return self.flags[letter]()

        if name in positive:
            return negated(self.condition(positive[name]))
        if name == "be":
            return either(flag("C"), flag("Z"))
        if name not in flags:
            raise Unsupported(f"condition {name} is unknown: {self.text()}")
        return flag(flags[name])

    def set_flags(self, result, width, carry):
        self.flags = {"Z": lambda: equal(result, 0, width), "C": lambda: carry,
                      "S": lambda: negated(below(result, 1 << width - 1, width))}

    def step(self):
        """Executes one instruction. Returns None, or a condition and an address to jump to if it holds."""
        self.instruction = self.image.instruction(self.pc)
        ops, name = self.instruction.operands, self.instruction.mnemonic
        self.pc += self.instruction.size
        if name[0] == "j" and name != "jmp":
            return self.condition(name[1:]), ops[0].imm
        if name == "jmp":
            return True, self.get(ops[0]) if ops[0].type != IMM else ops[0].imm
        if name.startswith("cmov"):
            return self.choose(ops, self.condition(name[4:]))
        if name.startswith("set"):
            chosen = self.condition(name[3:])
            return self.set(ops[0], int(chosen) if isinstance(chosen, bool)
                            else z3.If(chosen, z3.BitVecVal(1, 8), z3.BitVecVal(0, 8)))
        if method := getattr(self, f"do_{name}", None):
            return method(*ops)
        if method := VECTOR.get(name) or VECTOR.get(name.removeprefix("v")):
            return method(self, *ops)
        raise Unsupported(f"an instruction that the proof does not know: {self.text()}")

    def choose(self, ops, condition):
        value, width = self.get(ops[1]), 8 * ops[0].size
        if not isinstance(condition, bool):
            value = known(z3.If(condition, bits(value, width), bits(self.get(ops[0]), width)))
        elif not condition:
            value = self.get(ops[0])
        self.set(ops[0], value)

    def do_mov(self, to, source):
        self.set(to, self.get(source))

    do_movabs = do_mov

    def do_movzx(self, to, source):
        self.set(to, widen(self.get(source), 8 * source.size, 8 * to.size))

    def do_lea(self, to, source):
        self.set(to, cut(self.address(source), 0, 8 * to.size))

    def do_add(self, to, source):
        a, b, width = self.get(to), self.get(source), 8 * to.size
        result = plus(a, b, width)
        self.set_flags(result, width, below(result, b, width))
        self.set(to, result)

    def step_by_one(self, to, change):
        """The carry stays."""
        width, carry = 8 * to.size, self.flags.get("C")
        result = plus(self.get(to), change & ALL[width], width)
        self.set_flags(result, width, False)
        self.flags.pop("C")
        if carry:
            self.flags["C"] = carry
        self.set(to, result)

    def do_inc(self, to):
        self.step_by_one(to, 1)

    def do_dec(self, to):
        self.step_by_one(to, -1)

    def carry_in(self, width):
        carry = self.flags["C"]() if "C" in self.flags else None
        if carry is None:
            raise Unproved(f"a carry is read that nothing has set: {self.text()}")
        return int(carry) if isinstance(carry, bool) else z3.If(carry, z3.BitVecVal(1, width), z3.BitVecVal(0, width))

    def do_adc(self, to, source):
        a, b, width = self.get(to), self.get(source), 8 * to.size
        wide = known(z3.ZeroExt(1, bits(a, width)) + z3.ZeroExt(1, bits(b, width)) + bits(self.carry_in(width + 1), width + 1))
        self.set_flags(cut(wide, 0, width), width, equal(cut(wide, width, 1), 1, 1))
        self.set(to, cut(wide, 0, width))

    def do_sub(self, to, source):
        self.do_cmp(to, source)
        self.set(to, minus(self.get(to), self.get(source), 8 * to.size))

    def do_sbb(self, to, source):
        a, b, width = self.get(to), self.get(source), 8 * to.size
        borrowed = self.carry_in(width)
        less, same = below(a, b, width), equal(a, b, width)
        result = minus(minus(a, b, width), borrowed, width)
        is_one = equal(borrowed, 1, width)
        both = z3.And(same if not isinstance(same, bool) else z3.BoolVal(same),
                      is_one if not isinstance(is_one, bool) else z3.BoolVal(is_one))
        self.set_flags(result, width, either(less, holds(both)))
        self.set(to, result)

    def do_cmp(self, a, b):
        left, right, width = self.get(a), self.get(b), 8 * a.size
        self.set_flags(minus(left, right, width), width, below(left, right, width))

    def do_neg(self, to):
        value, width = self.get(to), 8 * to.size
        self.set_flags(minus(0, value, width), width, negated(equal(value, 0, width)))
        self.set(to, minus(0, value, width))

    def do_not(self, to):
        self.set(to, minus(ALL[8 * to.size], self.get(to), 8 * to.size))

    def logic(self, to, a, b, operation, keeps=True):
        width = 8 * to.size
        result = operation(a, b) if isinstance(a, int) and isinstance(b, int) \
            else known(operation(bits(a, width), bits(b, width)))
        self.set_flags(result, width, False)
        if keeps:
            self.set(to, result)

    def do_and(self, to, source):
        self.logic(to, self.get(to), self.get(source), lambda a, b: a & b)

    def do_or(self, to, source):
        self.logic(to, self.get(to), self.get(source), lambda a, b: a | b)

    def do_xor(self, to, source):
        if to.type == source.type == REG and to.reg == source.reg:
            self.set(to, 0)
            return self.set_flags(0, 8 * to.size, False)
        self.logic(to, self.get(to), self.get(source), lambda a, b: a ^ b)

    def do_test(self, a, b):
        self.logic(a, self.get(a), self.get(b), lambda a, b: a & b, keeps=False)

    def shift(self, to, by, operation):
        width = 8 * to.size
        by = self.get(by) if by is not None else 1
        by = widen(bits(by, 8) & (63 if width == 64 else 31), 8, width)
        self.set(to, known(operation(bits(self.get(to), width), by)))
        self.flags = {}

    def do_shl(self, to, by=None):
        self.shift(to, by, lambda a, b: a << b)

    def do_shr(self, to, by=None):
        self.shift(to, by, z3.LShR)

    def do_shld(self, to, source, by):
        width, by = 8 * to.size, by.imm
        self.set(to, known(bits(self.get(to), width) << by | z3.LShR(bits(self.get(source), width), width - by)))
        self.flags = {}

    def do_bswap(self, to):
        self.set(to, swap(self.get(to), to.size))

    def do_push(self, source):
        value = self.get(source)
        self.registers["rsp"] = minus(self.registers["rsp"], 8, 64)
        self.store(self.registers["rsp"], value, 8)

    def do_pop(self, to):
        value = self.load(self.registers["rsp"], 8)
        self.registers["rsp"] = plus(self.registers["rsp"], 8, 64)
        self.set(to, value)

    def do_call(self, to):
        target = to.imm if to.type == IMM else self.get(to)
        self.registers["rsp"] = minus(self.registers["rsp"], 8, 64)
        self.store(self.registers["rsp"], self.pc, 8)
        return True, target

    def do_ret(self):
        target = self.load(self.registers["rsp"], 8)
        self.registers["rsp"] = plus(self.registers["rsp"], 8, 64)
        return True, target

    def after_call(self):
        """What a function that was not looked into leaves of the registers."""
        for name in ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"):
            self.registers.pop(name, None)
        self.vectors, self.masks, self.flags = {}, {}, {}
        return self.do_ret()

    def do_nop(self, *_):
        pass

    # Order between cores, and clean upper halves, which vzeroupper makes.
    do_sfence = do_nop

    def do_vzeroupper(self):
        self.vectors = {name: [lanes[0], 0, 0, 0] if int(name[2:]) < 16 else lanes
                        for name, lanes in self.vectors.items()}

    def do_kmovq(self, to, source):
        self.masks[self.operand_name(to)] = self.get(source)

    def do_vmovdqu8(self, to, *sources):
        if len(sources) == 1:
            return self.set_lanes(to, self.lanes(sources[0]))
        mask = self.masks[self.operand_name(sources[0])]
        if not isinstance(mask, int):
            raise Fork(mask)
        lanes, start = self.lanes(sources[1]), self.address(to)
        for i, lane in enumerate(lanes):
            chosen = [mask >> 16 * i + j & 1 for j in range(16)]
            first = chosen.index(1) if 1 in chosen else 16
            last = 16 - chosen[::-1].index(1) if 1 in chosen else 16
            if not all(chosen[first:last]):
                raise Unsupported(f"a mask with holes: {mask:#x}")
            if first < last:
                self.store_bytes(plus(start, 16 * i + first, 64), [(lane, 16, j) for j in range(first, last)])


def moves(aligned):
    def move(state, to, source):
        memory = to if to.type == MEM else source if source.type == MEM else None
        if aligned and memory is not None:
            state.require_alignment(state.address(memory), memory.size)
        state.set_lanes(to, state.lanes(source))
    return move


def lanewise(operation):
    """An instruction with one source and a destination that is read, or with two sources."""
    def apply(state, to, *sources):
        a, b = (to, sources[0]) if len(sources) == 1 else sources
        if len(sources) == 1 and b.type == MEM:
            state.require_alignment(state.address(b), 16)
        state.set_lanes(to, [operation(x, y) for x, y in zip(state.lanes(a), state.lanes(b))])
    return apply


def aes_round(mix):
    def apply(state, to, *sources):
        lanewise(lambda block, key: xor(mix(state.sub(bits(block, 128))), key))(state, to, *sources)
    return apply


def pxor(state, to, *sources):
    a, b = (to, sources[0]) if len(sources) == 1 else sources
    if a.type == b.type == REG and a.reg == b.reg:
        return state.set_lanes(to, [0] * (to.size // 16))
    lanewise(xor)(state, to, *sources)


def shuffle_bytes(lane, mask):
    if not isinstance(mask, int):
        raise Unsupported("a shuffle whose order is not known")
    values = to_bytes(lane, 16)
    return from_bytes([0 if n & 0x80 else values[n & 15] for n in mask.to_bytes(16, "little")])


def movq(state, to, source):
    if to.type == REG and state.operand_name(to) in GENERAL or to.type == MEM:
        return state.set(to, cut(state.lanes(source)[0], 0, 8 * to.size))
    if source.type == REG and state.operand_name(source) not in GENERAL:
        return state.set_lanes(to, [widen(cut(state.lanes(source)[0], 0, 64), 64, 128)])
    state.set_lanes(to, [known(widen(state.get(source), 8 * source.size, 128))])


def pshufd(state, to, source, order):
    words = [cut(state.lanes(source)[0], 32 * (order.imm >> 2 * i & 3), 32) for i in range(4)]
    state.set_lanes(to, [join(join(words[3], words[2], 32), join(words[1], words[0], 32), 64)])


def pslldq(state, to, by):
    values = to_bytes(state.lanes(to)[0], 16)
    state.set_lanes(to, [from_bytes([0] * by.imm + values[:16 - by.imm])])


def vinserti128(state, to, source, lane, place):
    lanes = list(state.lanes(source))
    lanes[place.imm & 1] = state.lanes(lane)[0]
    state.set_lanes(to, lanes)


def vshufi64x2(state, to, a, b, order):
    count = to.size // 16
    if count != 4:
        raise Unsupported(f"vshufi64x2 of {to.size} bytes")
    a, b = state.lanes(a), state.lanes(b)
    state.set_lanes(to, [(a if i < 2 else b)[order.imm >> 2 * i & 3] for i in range(4)])


def broadcast(state, to, source):
    state.set_lanes(to, [state.lanes(source)[0]] * (to.size // 16))


VECTOR = {
    **{name: moves(False) for name in ("movdqu", "movups", "movdqu64", "movdqu32", "movupd")},
    **{name: moves(True) for name in ("movdqa", "movaps", "movdqa64", "movdqa32", "movntdq", "movntps")},
    **{name: pxor for name in ("pxor", "xorps", "pxord", "pxorq")},
    "paddq": lanewise(add_halves),
    "pshufb": lanewise(shuffle_bytes),
    # FIPS 197: a round without the addition of its key, and the addition.
    "aesenc": aes_round(lambda block: MIX(block)),
    "aesenclast": aes_round(lambda block: block),
    "punpcklqdq": lanewise(lambda a, b: join(cut(b, 0, 64), cut(a, 0, 64), 64)),
    "movq": movq, "movd": movq, "pshufd": pshufd, "pslldq": pslldq, "vinserti128": vinserti128, "vshufi64x2": vshufi64x2,
    "vbroadcasti128": broadcast, "vbroadcasti32x4": broadcast,
}
