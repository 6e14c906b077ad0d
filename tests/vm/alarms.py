# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel's log holds when something is wrong with the kernel."""
import re

ALARM = re.compile(
    r"WARNING: |BUG: |BUG at|\bOops\b|Kernel panic|Call Trace|general protection fault|segfault|int3:|unchecked MSR|"
    r"rcu.*(stall|self-detected)|(soft|hard) ?lockup|blocked for more than|possible (circular|recursive)|lockdep|"
    r"suspicious RCU|scheduling while atomic|sleeping function called|KASAN|UBSAN|KCSAN|Bad page state|"
    r"refcount_t: |list_(add|del) corruption|use-after-free|still in use|leaked")
