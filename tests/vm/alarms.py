# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel's log holds when something is wrong with the kernel."""
import contextlib
import re
import subprocess

ALARM = re.compile(
    r"WARNING: |BUG: |BUG at|\bOops\b|Kernel panic|Call Trace|general protection fault|segfault|int3:|unchecked MSR|"
    r"rcu.*(stall|self-detected)|(soft|hard) ?lockup|blocked for more than|possible (circular|recursive)|lockdep|"
    r"suspicious RCU|scheduling while atomic|sleeping function called|KASAN|UBSAN|KCSAN|Bad page state|"
    r"refcount_t: |list_(add|del) corruption|use-after-free|still in use|leaked")


def kernel_log():
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout.splitlines()


@contextlib.contextmanager
def quiet_kernel():
    """During the block the kernel has nothing to complain about. Gives a function that returns the log since its begin."""
    before = len(kernel_log())
    yield lambda: kernel_log()[before:]
    assert [line for line in kernel_log()[before:] if ALARM.search(line)] == []
