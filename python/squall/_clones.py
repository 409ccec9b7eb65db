"""Notifications of clones of this machine: a watch to wait on, and functions that are called."""

import os as _os
import select as _select
import threading as _threading
import time as _time

from . import _squall


class CloneWatch(_squall.CloneWatch):
    """Waits for clones of this machine: by `wait`, by ``async for``, or by an event loop of your own, with `fileno`.

    Raises
    ------
    OSError
        Nothing on this machine shows clones: ``clone_signal()`` is None.

    Notes
    -----
    A watch belongs to the process that made it: a forked child process makes its own. Clones from its beginning on are
    reported. A `wait` may be interrupted by signal handlers, as other functions of Python.

    Examples
    --------
    >>> async def drop_cached_tokens():
    ...     async for generation in squall.CloneWatch():
    ...         cache.clear()
    """

    def wait(self, timeout=None):
        """Wait until the machine may have been cloned; return False if `timeout` seconds passed without."""
        poll = _select.poll()
        poll.register(self, _select.POLLIN)
        end = None if timeout is None else _time.monotonic() + timeout
        while not self.take_change():
            left = None if end is None else end - _time.monotonic()
            if left is not None and left <= 0:
                return False
            poll.poll(None if left is None else left * 1000)
        return True

    async def __aiter__(self):
        """Yield the new generation after each clone."""
        from asyncio import Event, get_running_loop

        loop, is_readable = get_running_loop(), Event()
        loop.add_reader(self, is_readable.set)
        try:
            while True:
                await is_readable.wait()
                is_readable.clear()
                if self.take_change():
                    yield _squall.clone_generation()
        finally:
            loop.remove_reader(self)


_lock = _threading.Lock()
_functions = {}
_thread = None


def on_clone(function):
    """Have `function` called, without arguments, when this machine may have been cloned.

    Returns
    -------
    function
        The same: ``@squall.on_clone`` may be written before a definition.

    Raises
    ------
    OSError
        Nothing on this machine shows clones: ``clone_signal()`` is None.

    Notes
    -----
    Functions are called in the order of their registration, in a daemon thread of their own; an exception goes to
    `threading.excepthook`, and the others are called. They hold in forked child processes too, which have such a thread
    of their own. `off_clone` ends it.
    """
    global _thread
    with _lock:
        if _thread is None:
            _thread = _start()
        _functions[function] = True
    return function


def off_clone(function):
    """Have `function` not called any more; it is no error if it was not."""
    with _lock:
        _functions.pop(function, None)


def _start():
    thread = _threading.Thread(target=_call_functions, args=[CloneWatch()], name="squall-clones", daemon=True)
    thread.start()
    return thread


def _call_functions(watch):
    while watch.wait():
        for function in list(_functions):
            try:
                function()
            except Exception as error:
                thread = _threading.current_thread()
                _threading.excepthook(_threading.ExceptHookArgs([type(error), error, error.__traceback__, thread]))


def _after_fork():
    """Start the thread in a child process, which has only the thread that forked."""
    global _lock, _thread
    _lock = _threading.Lock()
    if _thread is not None:
        _thread = _start()


_os.register_at_fork(after_in_child=_after_fork)
