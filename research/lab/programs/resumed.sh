#!/bin/sh
# CRIU's action script: says on standard error that CRIU has restored a process. CRIU fails if a process ends before that.
[ "$CRTOOLS_SCRIPT_ACTION" != post-resume ] || echo resumed >&2
