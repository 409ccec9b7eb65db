"""Notifications of clones of this machine: a watch to wait on, and functions to call."""

import os as _os
import select as _select
import sys as _sys
import time as _time
from _thread import allocate_lock as _allocate_lock

from . import _squall


# In seconds. The kernel takes milliseconds of 31 bits; a longer wait is several.
_LONGEST_POLL = 1_000_000


class CloneWatch(_squall.CloneWatch):
    """Waits for clones of this machine and restores of this process: by `wait`, by ``async for``, or with `fileno` in an
    event loop of your own.

    Raises
    ------
    OSError
        This process cannot notice clones: ``clone_signal()`` is None.

    Notes
    -----
    A watch reports clones from when it was made. Tasks may iterate over one watch: each gets all that come from then
    on. Do not use it in a forked child process: make another one there. An
    exception in a signal handler ends a `wait`.

    Examples
    --------
    >>> async def drop_cached_tokens():
    ...     async for generation in squall.CloneWatch():
    ...         cache.clear()
    """

    def wait(self, timeout=None):
        """Wait until the machine may have been cloned, or the process was restored; return False if `timeout` seconds
        passed without."""
        poll = _select.poll()
        poll.register(self, _select.POLLIN)
        end = None if timeout is None else _time.monotonic() + timeout
        while not self.take_change():
            left = None if end is None else end - _time.monotonic()
            if left is not None and left <= 0:
                return False
            poll.poll(None if left is None else min(left, _LONGEST_POLL) * 1000)
        return True

    async def __aiter__(self):
        """Yield the new generation after each clone."""
        from asyncio import Event, get_running_loop

        # Of this iteration alone: a change is taken once, and an event loop has one reader for a descriptor.
        watch, loop, is_readable = CloneWatch(), get_running_loop(), Event()
        if self.take_change():
            yield _squall.clone_generation()
        loop.add_reader(watch, is_readable.set)
        try:
            while True:
                await is_readable.wait()
                is_readable.clear()
                if watch.take_change():
                    yield _squall.clone_generation()
        finally:
            loop.remove_reader(watch)


_lock = _allocate_lock()
_functions = {}
_thread = None


def on_clone(function):
    """Call `function`, without arguments, whenever this machine may have been cloned, or this process was restored.

    Returns
    -------
    function
        The same function, so that ``@squall.on_clone`` can decorate a definition.

    Raises
    ------
    OSError
        This process cannot notice clones: ``clone_signal()`` is None.
    TypeError
        `function` cannot be called.

    Notes
    -----
    A daemon thread calls the functions in the order of their registration. An exception goes to
    `threading.excepthook`, and the other functions are still called. So ``sys.exit`` does not end the program; a signal
    does, as by ``signal.raise_signal(signal.SIGTERM)``. Forked child processes have the same functions, and a thread of
    their own; if it cannot begin, `sys.unraisablehook` gets the error, and the next `on_clone` tries again. `off_clone`
    ends a registration.
    """
    if not callable(function):
        raise TypeError(f"on_clone takes a function, not {function!r}")
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = _start_thread()
        _functions[function] = True
    return function


def off_clone(function):
    """Do not call `function` any more. To end a registration that does not exist is no error."""
    with _lock:
        _functions.pop(function, None)


def _start_thread():
    from threading import Thread

    thread = Thread(target=_call_functions, args=[CloneWatch()], name="squall-clones", daemon=True)
    thread.start()
    return thread


def _call_functions(watch):
    from threading import current_thread

    global _thread
    try:
        while watch.wait():
            for function in list(_functions):
                try:
                    function()
                except BaseException as error:
                    _report(error)
    finally:
        with _lock:
            if _thread is current_thread():
                _thread = None


def _report(error):
    """Report an exception as Python reports one that ends a thread, which this one does not."""
    import threading

    if isinstance(error, SystemExit):
        # The hook would say nothing.
        cause = error
        error = RuntimeError("sys.exit() in a function of on_clone ends nothing: raise a signal to end the program")
        error.__cause__ = cause
    arguments = [type(error), error, error.__traceback__, threading.current_thread()]
    try:
        threading.excepthook(threading.ExceptHookArgs(arguments))
    except BaseException:
        try:
            _sys.excepthook(*_sys.exc_info())
        except BaseException:
            pass


def _after_fork():
    """Start the thread in a child process, which has only the thread that forked."""
    global _lock, _thread
    _lock = _allocate_lock()
    parents, _thread = _thread, None
    if parents is not None:
        _thread = _start_thread()


_os.register_at_fork(after_in_child=_after_fork)
