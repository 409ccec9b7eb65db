"""Locks in forked child processes, which have only the thread that forked."""

from _thread import RLock as _RLock


def free_abandoned(lock):
    """Free an RLock that a thread holds which this child process does not have; return whether one did.

    It stays with the thread that forked, in a signal handler, while it had the lock.
    """
    if not isinstance(lock, _RLock) or not hasattr(lock, "_at_fork_reinit"):
        return False
    if lock.acquire(blocking=False):
        lock.release()
        return False
    lock._at_fork_reinit()
    return True
