#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs test levels, one after the other, and ends on the names of what failed and one line that counts them all.

usage: run.py BUILD LEVEL...      (levels: tree unit cli report web prom package fuzz faults serve host kunit vm soak arm64 release)

unit@address is the level unit in BUILD/address, a build with sanitizers. A level that fails does not stop the others. The
exit status is 0 only if nothing failed, every level ran at least one test, and no sanitizer had anything to report.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNIT_TESTS = sorted((ROOT / "tests/unit").glob("test_*.c"))
CMOCKA = re.compile(r"\[  (PASSED|FAILED|SKIPPED)  \] (\d+) test\(s\)")
NODE_TEST = re.compile(r"^\S+ (pass|fail|cancelled|skipped) (\d+)$", re.M)
# Several tests at a time, where most of them wait for something.
AT_ONCE = "-n", "4"
# A kernel of the guests whose tracepoints can be preempted.
PREEMPTIBLE = "7.2"
# One of another architecture, and the tests that say most of it in the shortest time; its CPUs share no cache.
FOREIGN, FOREIGN_TEST = "6.1-arm64", "test_tasks and test_null_blk and (none-2 or mq-deadline-1)"
# The guest tests that run in a second guest, beside the others: as many as take the time that it has left.
SECOND_HALF = " or ".join(f"test_{name}" for name in (
    "chardev", "idle_engines", "mapping", "module_life", "odd_requests", "removal", "size_engines", "split_bios", "stacked_devices"))
# The service's system call filter keeps a sanitizer from opening its file and from looking for leaks.
TO_STDERR = "log_path=stderr"
PYTEST = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
# How pytest (in a guest as well), cmocka, Node.js and KUnit name a test that failed, and a guest what its kernel logged.
NAMED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py.*?)(?: - .*)?$|^\[  FAILED  \] (?!\d+ test)(.+)|^ *✖ (?!failing tests)(.+?)(?: \([\d.]+ms\))?$|"
                   r"^ *not ok \d+ (.+)|^(kernel log: .+)", re.M)
# A failed test's section in what pytest prints, and in it the lines that say what is wrong.
SECTION = re.compile(r"^_{3,} (?:ERROR at \w+ of )?(.+?) _{3,}\n(.*?)(?=^_{3,} |^={3,} )", re.M | re.S)
WRONG = re.compile(r"^E .*", re.M)
WRONG_MOST = 12


class Count(dict):
    """
    How many tests passed, failed and were skipped; @names of those that failed, as far as they were told, and what pytest
    says is @wrong: {name: lines}.
    """

    def __init__(self):
        super().__init__(passed=0, failed=0, skipped=0)
        self.names, self.wrong = [], {}

    def add(self, other):
        for key, value in other.items():
            self[key] += value
        self.names += other.names
        self.wrong |= other.wrong

    def __str__(self):
        return f"{self['passed']} passed, {self['failed']} failed, {self['skipped']} skipped"


def show_line(line):
    print(line, end="", flush=True)


def run(argv, show=show_line, **env):
    """Shows the command's output as it comes. Returns its exit status and its output."""
    lines = []
    with subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as p:
        for line in p.stdout:
            lines.append(line)
            show(line)
    return p.returncode, "".join(lines)


def counted(status, count, output=""):
    """A command that failed without naming a failed test failed as a whole."""
    if status and not count["failed"]:
        count["failed"] += 1
    if count["failed"]:
        # Node.js and cmocka name failed tests twice.
        count.names += dict.fromkeys("".join(found).strip() for found in NAMED.findall(output))
        for test, section in SECTION.findall(output):
            for name in count.names:
                if name.endswith(f"::{test}"):
                    count.wrong[name] = WRONG.findall(section)[:WRONG_MOST]
    return count


def cmocka(program):
    """Returns the counts of a program and its whole output, to be shown in one piece: others run beside it."""
    count = Count()
    if not program.exists():
        return counted(1, count), f"{program} is not built\n"
    status, output = run([str(program)], show=lambda line: None, CMOCKA_MESSAGE_OUTPUT="STDOUT")
    for what, number in CMOCKA.findall(output):
        count[what.lower()] += int(number)
    return counted(status, count, output), output


def unit_programs(build, sources):
    """Two at a time. By what the Makefile builds of them: a program whose source is gone stays in the build folder."""
    total = Count()
    programs = [build / "tests/unit" / source.stem for source in sources]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, (count, output) in zip(programs, pool.map(cmocka, programs)):
            print(f"--- {path.name}\n{output}", end="", flush=True)
            total.add(count)
    return total


def pytest(*chosen, **env):
    count = Count()
    status, output = run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE",
                          "--durations=8", "--durations-min=5", *chosen], **env)
    for number, what in PYTEST.findall(output.strip().split("\n")[-1]):
        key = {"passed": "passed", "skipped": "skipped"}.get(what, "failed")
        count[key] += int(number)
    return counted(status, count, output)


def program(*argv, show=show_line):
    """One that prints its tests and counts them in its last line, like pytest. Returns the counts and its output."""
    count = Count()
    status, output = run([sys.executable, "-B", *argv], show)
    for number, what in PYTEST.findall(output.strip().split("\n")[-1]):
        count[what] += int(number)
    return counted(status, count, output), output


def kunit(build):
    """First whether the reading of results can be trusted."""
    count = pytest("tests/kunit")
    count.add(program("tests/kunit/uml.py")[0])
    return count


def vm(build):
    """
    The module's suites as a module of each kernel, then most of what needs devices. At the same time, since guests mostly wait:
    several tasks where they can be preempted anywhere; a weakly ordered CPU; the service; with all kernels, Secure Boot; and
    the rest of what needs devices.
    """
    kernels = os.environ.get("KERNEL", "").split()
    most = [("tests/kunit/stock.py", "run", *kernels), ("tests/vm/vm.py", "test", *kernels, "-k", f"not ({SECOND_HALF})")]
    others = [("tests/vm/vm.py", "test", PREEMPTIBLE, "-k", "test_tasks", "--append", "preempt=full")]
    if kernels and FOREIGN not in kernels:
        others.append(("tests/vm/vm.py", "test", FOREIGN, "-k", FOREIGN_TEST))
    if not kernels or "6.1" in kernels:  # Debian 12's
        others.append(("tests/vm/service_guest.py",))
    if not kernels:
        others.append(("tests/vm/signed_guest.py",))
    others.append(("tests/vm/vm.py", "test", *kernels, "-k", SECOND_HALF))
    total = Count()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        beside = [pool.submit(program, *argv, show=lambda line: None) for argv in others]
        for argv in most:
            total.add(program(*argv)[0])
        for future in beside:
            count, output = future.result()
            print(output, end="", flush=True)
            total.add(count)
    return total


def threaded(build):
    """What has threads, under the thread sanitizer: the unit tests that have some, and the service with its scout."""
    count = unit_programs(build, [source for source in UNIT_TESTS if "pthread_create" in source.read_text()])
    serve = [f"tests/serve/test_{name}.py" for name in ("access", "service_life", "routes", "stream")]
    options = f"atexit_sleep_ms=0:{TO_STDERR}"
    count.add(pytest(*serve, "-m", "not plain", TSAN_OPTIONS=options))
    count.add(pytest("tests/serve/test_hotplug.py", "-k", "come_and_go or metrics_and_snapshot", TSAN_OPTIONS=options))
    return count


def unit(build):
    count = Count()
    status, _ = run([sys.executable, "tests/vectors/check_vectors.py", str(build / "tests/vectors/bins_vectors.h")])
    count["failed" if status else "passed"] += 1
    count.add(unit_programs(build, UNIT_TESTS))
    return count


def serve(build):
    """Those that need no device and mostly wait, several at a time."""
    at_once = [f"tests/serve/test_{name}.py" for name in ("access", "confined", "guessing", "peers", "routes", "service_life", "stream")]
    options = f"detect_leaks=0:{TO_STDERR}"
    count = pytest(*at_once, *AT_ONCE, ASAN_OPTIONS=options)
    count.add(pytest("tests/serve", *(f"--ignore={path}" for path in at_once), ASAN_OPTIONS=options))
    return count


def web(build):
    """Node's own test runner; two browsers at a time, which mostly wait."""
    count = Count()
    files = sorted(str(path) for path in (ROOT / "tests/web").glob("test_*.mjs"))
    status, output = run([os.environ.get("NODE", "node"), "--test", "--test-reporter=spec", "--test-concurrency=2", *files],
                         WEB=str(build / "web"))
    for what, number in NODE_TEST.findall(output):
        count[{"pass": "passed", "skipped": "skipped"}.get(what, "failed")] += int(number)
    return counted(status, count, output)


LEVELS = {
    "tree": lambda build: pytest("tests/tree"),
    "unit": unit,
    "cli": lambda build: pytest("tests/cli", *AT_ONCE),
    "report": lambda build: pytest("tests/report", *AT_ONCE),
    "web": web,
    "prom": lambda build: pytest("tests/prom"),
    "package": lambda build: pytest("tests/package"),
    "fuzz": lambda build: program("tests/fuzz/fuzz.py", str(build))[0],
    "faults": lambda build: pytest("tests/faults"),
    "serve": serve,
    "host": lambda build: pytest("tests/host"),
    "kunit": kunit,
    "vm": vm,
    "threaded": threaded,
    "soak": lambda build: pytest("tests/soak", WEB=str(build / "web")),
    "arm64": lambda build: pytest("tests/arm64", "-n", "2"),
    "release": lambda build: pytest("tests/release"),
}


def use(build, flavour):
    """The program of a flavour for all tests from here on. Returns where it is."""
    os.environ["BLKLAT_PLAIN"] = str(build / "blklat")
    build = build / flavour
    os.environ["BLKLAT"] = str(build / "blklat")
    shutil.rmtree(build / "reports", ignore_errors=True)
    (build / "reports").mkdir(parents=True)
    return build


# All that a leak check says of a process that a test kills meanwhile.
KILLED = re.compile(r"==\d+==Unable to get registers from thread \d+\.")


def reported(build):
    """
    What the sanitizers of a build wrote, be it of a program whose end nobody looked at (tests/sanitizers.c).
    Returns of each report the line that sums it up, or its first.
    """
    said = []
    for report in sorted((build / "reports").glob("report*")):
        text = report.read_text(errors="replace")
        lines = [line for line in text.split("\n") if line.strip(" =")]
        if not all(KILLED.fullmatch(line) for line in lines):
            print(text, flush=True)
            said += [next((line for line in lines if line.startswith("SUMMARY: ")), lines[0])]
    return said


def run_level(name, build):
    """name: LEVEL or LEVEL@FLAVOUR"""
    level, _, flavour = name.partition("@")
    before = dict(os.environ)
    if flavour:
        build = use(build, flavour)
    count = LEVELS[level](build)
    if flavour and (reports := reported(build)):
        count["failed"] += len(reports)
        count.names += [f"report of sanitizers: {said}" for said in reports]
    if count["failed"] and not count.names:
        count.names.append("something that gave no name")
    os.environ.clear()
    os.environ.update(before)
    return count


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    total, empty, failed = Count(), [], []
    for level in sys.argv[2:]:
        print(f"=== {level}", flush=True)
        begin = time.monotonic()
        count = run_level(level, build)
        print(f"=== {level}: {count} in {time.monotonic() - begin:.0f} s\n", flush=True)
        total.add(count)
        failed += [(f"{level}: {name}", count.wrong.get(name, ())) for name in count.names]
        if not count["passed"]:
            empty.append(level)
    # A log of this length may be cut: its end says all.
    for name, wrong in failed:
        print("\n".join((f"failed at {name}", *wrong)))
    for level in empty:
        print(f"no test of level {level} passed")
    print(total, flush=True)
    return 1 if total["failed"] or empty else 0


if __name__ == "__main__":
    sys.exit(main())
