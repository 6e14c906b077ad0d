# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel log says about KUnit suites.

Lines of a suite, as KUnit of Linux 6.1 writes them (timestamps and levels of dmesg may stand before them):

        # Subtest: blklat_bins
        1..2
        # blklat_bins_test_a: EXPECTATION FAILED at drivers/...
        not ok 1 blklat_bins_test_a
        ok 2 blklat_bins_test_b # SKIP no reason
    not ok 1 blklat_bins

A suite whose init fails has the last line alone.
"""
import dataclasses
import re

PREFIX = re.compile(r"^(?:<\d+>)?(?:\[[ \d.]+\](?:\[ *[TC]\d+\])? ?)?")
SUITE = re.compile(r"^ {4}# Subtest: (\S+)$")
PLAN = re.compile(r"^ {4}1\.\.(\d+)$")
CASE = re.compile(r"^ {4}(ok|not ok) (\d+)(?: -)? (\S+)(?: # SKIP ?(.*))?$")
END = re.compile(r"^(ok|not ok) \d+(?: -)? (\S+)(?: # SKIP ?(.*))?$")
# A report of KASAN or lockdep fails no case by itself.
REPORT = re.compile(r"\b(BUG|WARNING|INFO|KASAN|UBSAN|Oops): |\bKernel panic\b|\bgeneral protection fault\b|"
                    r"\bdetected stalls?\b|kernel memory leak")
SHOWN = 20  # lines of a failure at its beginning, and as many at its end


@dataclasses.dataclass
class Case:
    name: str
    verdict: str  # passed, failed or skipped
    text: list  # what was logged since the previous case; the reason of a skip


@dataclasses.dataclass
class Suite:
    name: str
    planned: int = 0
    cases: list = dataclasses.field(default_factory=list)
    ended: str = ""  # ok or not ok; empty if it never ended
    text: list = dataclasses.field(default_factory=list)


def verdict(ok, skipped):
    return "failed" if ok != "ok" else "skipped" if skipped is not None else "passed"


def parse(log):
    """The suites of a log, in order."""
    suites, current, text = [], None, []
    for line in log.splitlines():
        line = PREFIX.sub("", line, count=1).rstrip()
        if match := SUITE.match(line):
            current, text = Suite(match[1]), []
            suites.append(current)
        elif current and (match := PLAN.match(line)):
            current.planned = int(match[1])
        elif current and (match := CASE.match(line)):
            reason = [match[4]] if match[4] else []
            current.cases.append(Case(match[3], verdict(match[1], match[4]), text + reason))
            text = []
        elif (match := END.match(line)) and (not current or match[2] == current.name):
            if not current:
                current = Suite(match[2])
                suites.append(current)
            current.ended, current.text = match[1], text
            current, text = None, []
        else:
            text.append(line)
    if current:
        current.text = text
    return suites


def reports(log):
    """Lines with complaints of the kernel."""
    return [line.strip() for line in log.splitlines() if REPORT.search(line)]


def shown(text):
    lines = [line.strip() for line in text if line.strip()]
    if len(lines) > 2 * SHOWN:
        lines[SHOWN:-SHOWN] = [f"... {len(lines) - 2 * SHOWN} lines more ..."]
    return "".join(f"      {line}\n" for line in lines)


def faults(suites, expected, log):
    """Faults besides failed cases, a line each."""
    found = []
    for suite in suites:
        if len(suite.cases) < suite.planned:
            found.append(f"{suite.name}: {len(suite.cases)} of {suite.planned} cases ran\n{shown(suite.text)}")
        elif not suite.ended:
            found.append(f"{suite.name}: has no end\n")
        elif suite.ended != "ok" and all(case.verdict != "failed" for case in suite.cases):
            found.append(f"{suite.name}: failed as a whole\n{shown(suite.text)}")
    ran = {suite.name for suite in suites if suite.cases or suite.ended == "not ok"}
    found += [f"{name} ({file}): did not run\n" for name, file in expected.items() if name not in ran]
    return found + [f"the kernel complains: {line}\n" for line in reports(log)]


def judge(log, expected):
    """
    Prints each case and what is wrong; returns the numbers of passed, failed and skipped cases. Every suite of
    `expected` (suite names with their source files) must have run. Other faults than failed cases count as failed.
    """
    count = counted()
    suites = parse(log)
    for suite in suites:
        for case in suite.cases:
            count[case.verdict] += 1
            print(f"{case.verdict:8}{suite.name}.{case.name}")
            if case.verdict != "passed":
                print(shown(case.text), end="")
    for fault in faults(suites, expected, log):
        count["failed"] += 1
        print(f"failed  {fault}", end="")
    return count


def counted(passed=0, failed=0, skipped=0):
    return {"passed": passed, "failed": failed, "skipped": skipped}


def add(one, other):
    return {what: one[what] + other[what] for what in one}


def summary(count):
    return ", ".join(f"{number} {what}" for what, number in count.items())


def finish(count):
    """Prints the last line; returns the exit status."""
    print(summary(count), flush=True)
    return 1 if count["failed"] or not count["passed"] else 0
