# SPDX-License-Identifier: GPL-2.0-only
"""
When standbys are attached, and for how long: each that is attached costs, and each that is not may lose an IO. The
kernel says itself which programs a process has attached, and how often it skipped each of them.
"""
import collections
import re

import pytest
from kernel_objects import attached_programs
from load import Blklat, Text, fio
from needs import need

RESTLESS_IOS = 1_000_000
QUICK = {"ioengine": "io_uring", "iodepth": 32, "norandommap": 1, "io_size": "1t"}


def event_of(program):
    """The tracepoint that a program of blklat is on; all of a chain have the beginning of their names in common."""
    return next(e for e in ("rq_complete", "rq_requeue", "rq_issue") if program.name.startswith(f"on_{e}"))


class Chains:
    """The programs of a running blklat, at this moment."""

    def __init__(self, b):
        self.skipped = collections.Counter()
        programs = attached_programs(b.pid)
        for p in programs:
            self.skipped[event_of(p)] += p.skipped
        self.standbys = {e: n - 1 for e, n in collections.Counter(map(event_of, programs)).items()}

    def at_rest(self):
        """What was skipped once keeps a standby."""
        return {event: int(self.skipped[event] > 0) for event in self.standbys}


@pytest.fixture
def unpreemptible():
    with open("/proc/kallsyms") as symbols:
        need(not re.search(r" (__)?init_srcu_struct_fast\n", symbols.read()), "tracepoints can be preempted, so standbys stay")


def test_of_ends_leave_when_nothing_is_skipped(unpreemptible, loop):
    """After a load, those that no skip has shown to be needed. (Not before it, as tests/unit/test_standbys.c has it.)"""
    at_first = {"rq_complete": 1, "rq_requeue": 1, "rq_issue": 0}
    with Blklat(loop) as b:
        assert Chains(b).standbys == at_first
        fio(loop, number_ios=RESTLESS_IOS + 100_000, runtime=300, **QUICK)

        def rested():
            now = Chains(b)
            return now.standbys == now.at_rest()
        b.until(rested, "rest")
        assert b.lines[-1]["accounting"]["skipped"] == 0


def test_as_many_as_asked(loop, monkeypatch):
    for n in range(4):
        monkeypatch.setenv("BLKLAT_STANDBY", str(n))
        with Blklat(loop) as b:
            assert Chains(b).standbys == {"rq_complete": n, "rq_requeue": n, "rq_issue": n}


@pytest.mark.parametrize("said", ["", "4", "-1", "2x", "many"])
def test_not_a_number_of_standbys(loop, monkeypatch, said):
    monkeypatch.setenv("BLKLAT_STANDBY", said)
    b = Text(loop, "--engine", "bpf")
    assert b.wait() == 2
    assert b.stderr == f"blklat live: BLKLAT_STANDBY is '{said}', but has to be a number of standby programs, 0 to 3\n"
    assert b.text == ""
