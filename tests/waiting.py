# SPDX-License-Identifier: GPL-2.0-only
"""Waiting for a condition: the tests' only way to wait for something that takes a time of its own."""
import os
import time

# A time limit that is reached only on failure. Emulated machines are slow.
DEADLINE_S = 60 * float(os.environ.get("BLKLAT_SLOW", 1))


def wait_until(condition, what, process=None, within_s=DEADLINE_S, every_s=0.01):
    """
    Waits for a condition; returns its value. Fails at once if the process that should fulfil it has ended: anything with
    over(), and words for the failure.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        # Asked before the condition, since the process may have fulfilled it just before it ended.
        over = process and process.over()
        value = condition()
        if value:
            return value
        assert not over, f"before {what}: {process}"
        time.sleep(every_s)
    raise AssertionError(f"no {what} within {within_s} s: {process or ''}")
