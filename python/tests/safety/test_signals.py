"""Signal handlers that draw, or fork.

Python runs its handlers between draws, or where a method of NumPy or a shuffle calls back, and never in the middle of
a native draw. For handlers of C, which do come there, see squall/tests/guards/signals.rs.
"""

import signal

import pytest

import squall
from helpers import in_children, repeated


@pytest.fixture
def on_signal():
    """Returns a function that makes another the handler of SIGUSR1."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda act: signal.signal(signal.SIGUSR1, lambda *_: act())
    signal.signal(signal.SIGUSR1, before)


class Interrupting(list):
    """A list that is interrupted by a signal at every change."""

    def __setitem__(self, at, item):
        signal.raise_signal(signal.SIGUSR1)
        super().__setitem__(at, item)


def test_a_shuffle_is_interrupted(on_signal):
    rng, drawn = squall.Random(), []

    def draw():
        drawn.extend([(rng.random(), rng.gauss()), squall.token_bytes(16), squall.token_bytes(100_000)[:16]])

    on_signal(draw)
    for _ in range(5):
        rng.shuffle(items := Interrupting(range(50)))
        assert sorted(items) == list(range(50))
    assert len(drawn) >= 5 * 49 * 3
    assert not repeated(drawn)


def test_an_index_is_interrupted(on_signal):
    class Length:
        def __index__(self):
            signal.raise_signal(signal.SIGUSR1)
            return 16

    drawn = []
    on_signal(lambda: drawn.append(squall.token_bytes(16)))
    for _ in range(100):
        drawn.append(squall.token_bytes(Length()))
        assert 0 <= squall.randbelow(Length()) < 16
    assert len(drawn) >= 300 and not repeated(drawn)


def test_a_handler_forks(on_signal):
    drawn = []
    on_signal(lambda: drawn.extend(in_children(1, lambda: squall.token_bytes(16))))
    squall.Random().shuffle(items := Interrupting(range(20)))
    assert sorted(items) == list(range(20))
    assert len(drawn) >= 19 and not repeated(drawn)


def test_control_a_generator_with_a_buffer_repeats(on_signal):
    class Buffered:
        at, numbers = 0, range(1000)

        def draw(self):
            at = self.at
            if interrupt:
                signal.raise_signal(signal.SIGUSR1)
            self.at = at + 1
            return self.numbers[at]

    generator, drawn, interrupt = Buffered(), [], True

    def draw():
        nonlocal interrupt
        interrupt = False
        drawn.append(generator.draw())
        interrupt = True

    on_signal(draw)
    for _ in range(100):
        drawn.append(generator.draw())
    assert repeated(drawn) == 100


def test_generators_of_numpy_are_interrupted(on_signal, np, sq):
    """NumPy's shuffle has the lock of the bit generator from which the handler draws."""
    for rng in [sq.default_rng(), sq.default_rng(5), np.random.Generator(sq.Squall())]:
        drawn = []

        def draw():
            drawn.extend([(rng.random(), rng.random()), tuple(rng.random(3)), tuple(rng.random(12_000)[:3])])
            drawn.append(rng.bytes(40))

        on_signal(draw)
        rng.shuffle(items := Interrupting(range(50)))
        assert sorted(items) == list(range(50))
        assert len(drawn) >= 49 * 4 and not repeated(drawn)


def test_a_timer_interrupts_at_any_place():
    """Until two hundred signals came; Python runs the handler after the call that was interrupted."""
    drawn, count = [], 0
    rng = squall.Random()
    items = list(range(300))

    def pair():
        return rng.random(), rng.random()

    def handler(*_):
        nonlocal count
        count += 1
        drawn.extend([squall.token_bytes(16), pair(), squall.uuid4(), squall.token_bytes(70_000)[:16]])

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while count < 200:
            drawn.extend([squall.token_bytes(16), pair(), squall.token_bytes(200_000)[:16]])
            drawn.append(squall.token_bytes(300)[:16])
            rng.shuffle(items)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not repeated(drawn)
    assert sorted(items) == list(range(300))
