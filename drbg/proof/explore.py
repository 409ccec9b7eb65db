"""Follows a function along every path, for all lengths at once, by induction over what is left to do.

At each place to which a jump leads (a cut) the function still has to do what it had to do at its entry: write the keystream
from counter V on into `len` bytes at `out`. So the state there is described as a function of V, len and out alone. A path that
comes to the cut with `size` bytes written must have a state that is the same function of V + size / 16, len - size and
out + size, for every V, len and out; then it ends there, and the paths behind the cut are followed once, for all V, len and
out. What a later path does not confirm of the description is forgotten, and the paths behind the cut are followed again. A
circle of cuts in which nothing is written is an error, so each loop ends."""

import z3

from binary import Unproved, Unsupported
from machine import HIGH, LENGTH, LOW, OUT, Fork, Region, bits, known, minus

# Instructions of one path, and values of what must be known at a fork.
MOST_STEPS, MOST_VALUES = 20000, 70
# The address that a function returns to.
RETURN = 0xDEAD0000


def same(a, b):
    if z3.is_expr(a) and z3.is_expr(b):
        return a.eq(b)
    return isinstance(a, int) and isinstance(b, int) and a == b


def same_byte(a, b):
    return b is not None and a[1:] == b[1:] and same(a[0], b[0])


def written_front(state):
    """How many bytes are written, which must be the first ones."""
    size = len(state.written)
    if sorted(state.written) != list(range(size)):
        raise Unproved("the bytes that are written are not next to each other")
    return size


def behind(state, value, size):
    """The same of the counter, length and place behind `size` bytes. None of what has to do with a block: it has another number
    there."""
    if value is None or isinstance(value, int) or size == 0:
        return value
    if has_rounds(value):
        return None
    blocks = size // 16
    # Where the low half does not overflow, the high one stays.
    high = HIGH if state.promises else z3.Extract(127, 64, z3.Concat(HIGH, LOW) + blocks)
    changes = (LOW, LOW + blocks), (HIGH, high), (LENGTH, LENGTH - size), (OUT, OUT + size)
    value = z3.simplify(z3.substitute(value, *((old, bits(known(new), 64)) for old, new in changes)))
    return known(value) if z3.is_bv(value) else value


def has_rounds(value):
    """Whether rounds of AES are in it, or a block of what was in `out`."""
    seen, work = set(), [value]
    while work:
        term = work.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            if term.decl().kind() == z3.Z3_OP_UNINTERPRETED and term.num_args():
                return True
            work += term.children()
    return False


class Cut:
    """The description of the state at an address."""

    def __init__(self, first):
        size = written_front(first)
        self.version, self.state = 0, first.copy()
        state = self.state
        state.written, state.flags = {}, {}
        state.path = list(first.facts)
        for fact in first.path:
            fact = behind(first, fact, -size)
            if not z3.is_true(fact) and not any(fact.eq(other) for other in state.path):
                state.path.append(fact)
        state.registers = {name: self.plain(state, moved) for name, value in first.registers.items()
                           if (moved := behind(first, value, -size)) is not None}
        state.masks = {}
        state.stack = {at: (moved, width, number) for at, (value, width, number) in first.stack.items()
                       if (moved := behind(first, value, -size)) is not None}
        state.vectors = {name: [behind(first, lane, -size) for lane in lanes] for name, lanes in first.vectors.items()}
        state.regions["out"] = Region(OUT, first.regions["out"].read, first.regions["out"].write)

    @staticmethod
    def plain(state, value):
        """The value as a half of the counter if it is one: with carries it may look otherwise."""
        if not isinstance(value, int) and not state.promises:
            for half in (LOW, HIGH):
                if not has_rounds(value) and state.proves(value == half):
                    return half
        return value

    def differs(self, state):
        """What of the description does not hold of this state."""
        size = written_front(state)
        facts = len(state.facts)
        for fact in (*state.facts, *state.promises):
            if not state.proves(behind(state, fact, size), *state.promises):
                raise Unproved("what holds at the entry does not hold of the rest")

        def is_same(value, now, width):
            if value is None or now is None:
                return value is None
            moved = behind(state, value, size)
            if moved is None:
                return False
            change = minus(moved, now, width)
            if isinstance(change, int):
                return change == 0
            return not has_rounds(change) and state.proves(change == 0, *state.promises)

        cut = self.state
        wrong = [("path", fact) for fact in cut.path[facts:]
                 if not state.proves(behind(state, fact, size), *state.promises)]
        wrong += [("registers", name) for name, value in cut.registers.items()
                  if not is_same(value, state.registers.get(name), 64)]
        wrong += [("vectors", name) for name, lanes in cut.vectors.items()
                  if not all(is_same(lane, now, 128) for lane, now in zip(lanes, state.vectors.get(name, [None] * 4)))]
        return wrong + [("stack", at) for at, (value, width, number) in cut.stack.items()
                        if not same_byte((behind(state, value, size), width, number), state.stack.get(at))]

    def forget(self, wrong):
        for kind, name in wrong:
            kept = getattr(self.state, kind)
            if kind == "path":
                self.state.path = [fact for fact in kept if not fact.eq(name)]
            else:
                kept.pop(name)
        self.version += 1

    def begin(self):
        """The state that is described."""
        state = self.state.copy()
        state.origin, state.is_at_origin = (self, self.version), True
        return state


class Explorer:
    """`hooks` are functions that stand for others: by name, each takes the state at the call."""

    def __init__(self, image, hooks, at_end):
        self.image, self.hooks, self.at_end = image, hooks, at_end
        self.targets, self.cuts, self.idle, self.paths = set(), {}, set(), 0

    def run(self, state, start):
        """Follows all paths from the address on."""
        state.pc = start
        self.targets = self.image.jump_targets(start) if "out" in state.regions else set()
        work = [state]
        while work:
            state = work.pop(0)
            if state.origin is None or state.origin[0].version == state.origin[1]:
                work += self.follow(state)
        self.check_progress()

    def check_progress(self):
        edges = set(self.idle)
        while ends := {edge for edge in edges if not any(edge[1] == other[0] for other in edges)}:
            edges -= ends
        if edges:
            raise Unproved("a loop may go on without writing anything")

    def follow(self, state):
        """Follows a state to its end, or to where it divides; returns the parts."""
        for _ in range(MOST_STEPS):
            if state.pc == RETURN:
                self.paths += 1
                self.at_end(state)
                return []
            name = self.image.names.get(state.pc, "")
            hook = self.hooks.get(name)
            if "panicking" in name and not hook:
                raise Unproved("a panic is possible")
            if not hook and not state.is_at_origin and state.pc in self.targets and len(state.written) % 16 == 0:
                return self.at_cut(state)
            here, was_at_origin, state.is_at_origin = state.pc, state.is_at_origin, False
            try:
                jump = hook(state) if hook else state.step()
            except Fork as fork:
                state.pc, state.is_at_origin = here, was_at_origin
                return list(self.values(state, fork.value))
            if jump is None:
                continue
            condition, target = jump
            if not isinstance(condition, bool):
                return list(self.sides(state, condition, target))
            state.pc = target if condition else state.pc
        raise Unsupported(f"a path has more than {MOST_STEPS} instructions")

    @staticmethod
    def sides(state, condition, target):
        for holds, pc in ((condition, target), (z3.Not(condition), state.pc)):
            if state.check(holds):
                part = state.copy()
                part.path.append(holds)
                part.pc = pc
                yield part

    @staticmethod
    def values(state, value):
        found = []
        while model := state.check(*(value != other for other in found)):
            found.append(model.eval(value, model_completion=True))
            if len(found) > MOST_VALUES:
                raise Unsupported(f"a value that must be known has more than {MOST_VALUES} values")
        for number in found:
            part = state.copy()
            part.path.append(value == number)
            # Where it is kept.
            for kind in (part.registers, part.masks):
                for name, kept in kind.items():
                    if same(kept, value):
                        kind[name] = number.as_long()
            yield part

    def at_cut(self, state):
        """Ends a path at a cut. Returns what is to be followed from there, if anything is new."""
        if state.origin and not state.written:
            self.idle.add((state.origin[0].state.pc, state.pc))
        is_new = state.pc not in self.cuts
        cut = self.cuts.setdefault(state.pc, Cut(state)) if is_new else self.cuts[state.pc]
        if wrong := cut.differs(state):
            cut.forget(wrong)
        return [cut.begin()] if wrong or is_new else []
