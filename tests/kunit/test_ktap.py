# SPDX-License-Identifier: GPL-2.0-only
"""What counts as a failure in a log: each way in which suites fail to pass, and what is no failure."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ktap  # noqa: E402

GOOD = """\
KTAP version 1
1..2
    KTAP version 1
    # Subtest: one
    1..3
    ok 1 one_test_a
    ok 2 one_test_b # SKIP has a reason
    ok 3 - one_test_c
# one: pass:2 fail:0 skip:1 total:3
# Totals: pass:2 fail:0 skip:1 total:3
ok 1 one
    KTAP version 1
    # Subtest: two
    1..1
        # Subtest: two_test_parameters
        ok 1 first
        ok 2 second
    ok 1 two_test_parameters
ok 2 two
reboot: System halted
"""
EXPECTED = {"one": "kmod/one_kunit.c", "two": "kmod/two_kunit.c"}


def dmesg(log):
    return "".join(f"[{n:5}.{n:06}] {line}\n" for n, line in enumerate(log.splitlines()))


@pytest.mark.parametrize("log", [GOOD, dmesg(GOOD)], ids=["console", "dmesg"])
def test_good(log, capsys):
    assert ktap.judge(log, EXPECTED) == {"passed": 3, "failed": 0, "skipped": 1}
    assert capsys.readouterr().out.splitlines() == [
        "passed  one.one_test_a", "skipped one.one_test_b", "      has a reason", "passed  one.one_test_c",
        "passed  two.two_test_parameters"]


BAD = {
    "a case fails": (
        GOOD.replace("    ok 3 - one_test_c", "    # one_test_c: EXPECTATION FAILED at f.c:7\n    not ok 3 one_test_c")
            .replace("ok 1 one\n", "not ok 1 one\n"), (2, 1, 1), "# one_test_c: EXPECTATION FAILED at f.c:7"),
    "a suite is missing": (GOOD[:GOOD.index("ok 1 one\n") + 9], (2, 1, 1), "two (kmod/two_kunit.c): did not run"),
    "it died in a case": (GOOD[:GOOD.index("    ok 3")], (1, 2, 1), "one: 2 of 3 cases ran"),
    "it died after the cases": (GOOD[:GOOD.index("# one: pass")] , (2, 2, 1), "one: has no end"),
    "a suite's init fails": (
        "    # failed to initialize (-12)\nnot ok 1 one\n" + GOOD[GOOD.index("ok 1 one\n") + 9:], (1, 1, 0),
        "one: failed as a whole"),
} | {line: (GOOD + line + "\n", (3, 1, 1), f"the kernel complains: {line}") for line in (
    "BUG: KASAN: slab-out-of-bounds in f+0xa0/0xd0", "WARNING: CPU: 0 PID: 19 at f.c:15 f+0x4d/0x80",
    "INFO: trying to register non-static key.", "UBSAN: array-index-out-of-bounds in f.c:18:45")}


@pytest.mark.parametrize("log,count,line", BAD.values(), ids=BAD)
def test_bad(log, count, line, capsys):
    assert tuple(ktap.judge(log, EXPECTED).values()) == count
    assert line in capsys.readouterr().out
