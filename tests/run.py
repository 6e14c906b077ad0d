#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs test levels, and ends on a line for each, the tests that took longest, what failed, and one line that counts them all.

usage: run.py BUILD LEVEL...      (levels: tree unit cli report web prom package fuzz faults serve host kunit vm soak arm64 release)

unit@address is the level unit in BUILD/address, a build with sanitizers. Several levels run at the same time, in LANES. A level
that fails does not stop the others. The exit status is 0 only if nothing failed, every level ran at least one test, and no
sanitizer had anything to report.
"""
import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import traceback
import typing

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNIT_TESTS = sorted((ROOT / "tests/unit").glob("test_*.c"))
BEGIN = time.monotonic()
# Models of a CPU: they go through all executions of functions whose memory other tests check, so a sanitizer would only slow them down.
MODELS = "_order"
CMOCKA = re.compile(r"\[  (PASSED|FAILED|SKIPPED)  \] (\d+) test\(s\)")
NODE_TEST = re.compile(r"^\S+ (pass|fail|cancelled|skipped) (\d+)$", re.M)
# How long a test took, by pytest and by Node.js.
PYTEST_TIME = re.compile(r"^([\d.]+)s (?:call|setup|teardown) +(\S.*)$", re.M)
NODE_TIME = re.compile(r"^ *✔ (.+) \(([\d.]+)ms\)$", re.M)
LONGEST = 10
# Guests at a time.
GUESTS = 2
# Several tests at a time, where most of them wait for something.
AT_ONCE = "-n", "4"
# What a file prepares, or what the tests of one xdist_group share, is made once.
BY_FILE = "-n", "2", "--dist", "loadfile"
BY_GROUP = "--dist", "loadgroup"
# A kernel of the guests whose tracepoints can be preempted.
PREEMPTIBLE = "7.2"
# One of another architecture, and the tests that say most of it in the shortest time; its CPUs share no cache.
FOREIGN, FOREIGN_TEST = "6.1-arm64", "test_tasks and test_null_blk and (none-2 or mq-deadline-1)"
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
    How many tests passed, failed and were skipped; @names of those that failed, as far as they were told, what pytest
    says is @wrong: {name: lines}, and how many @seconds the longest took: {name: seconds}.
    """

    def __init__(self):
        super().__init__(passed=0, failed=0, skipped=0)
        self.names, self.wrong, self.seconds = [], {}, {}

    def add(self, other):
        for key, value in other.items():
            self[key] += value
        self.names += other.names
        self.wrong |= other.wrong
        self.seconds |= other.seconds

    def __str__(self):
        return f"{self['passed']} passed, {self['failed']} failed, {self['skipped']} skipped"


def run(argv, show=True, **env):
    """Shows the command's output as it comes, or not at all. Returns its exit status and its output."""
    lines = []
    with subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as p:
        for line in p.stdout:
            lines.append(line)
            if show:
                print(line, end="", flush=True)
    return p.returncode, "".join(lines)


def counted(status, count, output=""):
    """A command that failed without naming a failed test failed as a whole."""
    for seconds, name in PYTEST_TIME.findall(output):
        count.seconds[name] = count.seconds.get(name, 0) + float(seconds)
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
    begin = time.monotonic()
    status, output = run([str(program)], show=False, CMOCKA_MESSAGE_OUTPUT="STDOUT")
    count.seconds[program.name] = time.monotonic() - begin
    for what, number in CMOCKA.findall(output):
        count[what.lower()] += int(number)
    return counted(status, count, output), output


def unit_programs(build, sources):
    """
    Two at a time, models without sanitizers. By what the Makefile builds of them: a program whose source is gone stays in the
    build folder.
    """
    total = Count()
    plain = pathlib.Path(os.environ["BLKLAT_PLAIN"]).parent
    programs = [(plain if source.stem.endswith(MODELS) else build) / "tests/unit" / source.stem for source in sources]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, (count, output) in zip(programs, pool.map(cmocka, programs)):
            print(f"--- {path.name}\n{output}", end="", flush=True)
            total.add(count)
    return total


def pytest(*chosen, **env):
    count = Count()
    status, output = run([sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rsfE",
                          f"--durations={LONGEST}", "--durations-min=5", *chosen], **env)
    for number, what in PYTEST.findall(output.strip().split("\n")[-1]):
        key = {"passed": "passed", "skipped": "skipped"}.get(what, "failed")
        count[key] += int(number)
    return counted(status, count, output)


def program(*argv):
    """One that prints its tests and counts them in its last line, like pytest."""
    count = Count()
    status, output = run([sys.executable, "-B", *argv])
    for number, what in PYTEST.findall(output.strip().split("\n")[-1]):
        count[what] += int(number)
    return counted(status, count, output)


def kunit(build):
    """First whether the reading of results can be trusted."""
    count = pytest("tests/kunit")
    count.add(program("tests/kunit/uml.py"))
    return count


def guests(build):
    """
    What runs in guests, in the order in which it begins: {name: (what make builds for it, program)}. The module's suites as a
    module of each kernel; several tasks where they can be preempted anywhere; 384 possible CPUs; a weakly ordered CPU; the
    service; with all kernels, Secure Boot; and then all tests of what needs devices, which the last guests share. On some kernels,
    as in 'make test', without those of before_release (tests/vm/guest/conftest.py) and AppArmor's, and several tasks once more.
    """
    kernels = os.environ.get("KERNEL", "").split()
    fewer = " and not before_release" * bool(kernels)
    found = {"suites": ("", ("tests/kunit/stock.py", *kernels)),
             "preempted": ("", ("tests/vm/vm.py", "test", PREEMPTIBLE, "-k", f"test_tasks{fewer}", "--append", "preempt=full"))}
    found["large"] = "", ("tests/vm/vm.py", "test", *(kernels or ["6.1"]), "-k", f"test_many_cpus{fewer}", "--large")
    if not kernels:
        found["signed"] = "", ("tests/vm/signed_guest.py",)
    elif FOREIGN not in kernels:
        found["foreign"] = "arm64-program", ("tests/vm/vm.py", "test", FOREIGN, "-k", FOREIGN_TEST)
    if not kernels or "6.1" in kernels:  # Debian 12's
        found["service"] = "deb-files", ("tests/vm/service_guest.py", *(["-k", "not apparmor"] if kernels else []))
    chosen = ["-k", f"not test_tasks{fewer}"] if kernels else []
    for number in range(1, GUESTS + 1):
        found[f"shared {number}"] = "" if kernels else "arm64-guest-programs", ("tests/vm/vm.py", "test", *kernels, *chosen, "--share", str(shared(build)))
    return found


def shared(build):
    """Where the last guests say which of the tests they take."""
    return build / "vm/shared"


def threaded(build):
    """What has threads, under the thread sanitizer: the unit tests that have some, and the service."""
    count = unit_programs(build, [source for source in UNIT_TESTS if "pthread_create" in source.read_text()])
    serve = [f"tests/serve/test_{name}.py" for name in ("access", "service_life", "routes", "stream")]
    options = f"atexit_sleep_ms=0:{TO_STDERR}"
    count.add(pytest(*serve, "-m", "not plain", *AT_ONCE, TSAN_OPTIONS=options))
    count.add(pytest("tests/serve/test_hotplug.py", "-k", "come_and_go", TSAN_OPTIONS=options))
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
    # One thread for files: of several that wait, glibc before 2.41 may wake none (bug 25847), and a test waits for ever.
    status, output = run([os.environ.get("NODE", "node"), "--test", "--test-reporter=spec", "--test-concurrency=2", *files],
                         WEB=str(build / "web"), UV_THREADPOOL_SIZE="1")
    for what, number in NODE_TEST.findall(output):
        count[{"pass": "passed", "skipped": "skipped"}.get(what, "failed")] += int(number)
    count.seconds = {test: float(ms) / 1000 for test, ms in NODE_TIME.findall(output)}
    return counted(status, count, output)


class Level(typing.NamedTuple):
    lane: str
    needs: str  # what make builds for it besides 'test-programs'
    run: typing.Callable  # gets the build folder, and may have a name: see parts()


class Lane(typing.NamedTuple):
    width: int  # levels at a time
    nice: int  # where time is measured, the others give way; the service, whose limits are times, gives way by up to 10 itself


# Levels in different lanes run at the same time; those in one lane in the order in which they are named.
LANES = {"files": Lane(1, 3), "devices": Lane(1, 0), "guests": Lane(GUESTS, 10)}
LEVELS = {
    "tree": Level("files", "", lambda build: pytest("tests/tree")),
    "unit": Level("files", "", unit),
    "cli": Level("files", "", lambda build: pytest("tests/cli", *AT_ONCE)),
    "report": Level("files", "", lambda build: pytest("tests/report", *AT_ONCE, *BY_GROUP)),
    "web": Level("files", "", web),
    "prom": Level("files", "", lambda build: pytest("tests/prom", *AT_ONCE, *BY_GROUP)),
    "package": Level("files", "deb-files release-files rpm-files", lambda build: pytest("tests/package", *BY_FILE)),
    "fuzz": Level("files", "fuzz-programs", lambda build: program("tests/fuzz/fuzz.py", str(build))),
    "faults": Level("files", "", lambda build: pytest("tests/faults")),
    "kunit": Level("files", "", kunit),
    "serve": Level("devices", "", serve),
    "threaded": Level("devices", "", threaded),
    "host": Level("devices", "", lambda build: pytest("tests/host")),
    # Of the level host, what 'make test-quick' has time for.
    "counts": Level("devices", "", lambda build: pytest("tests/host/test_counts.py", "-k", "one_at_a_time or mixed")),
    "soak": Level("devices", "", lambda build: pytest("tests/soak", WEB=str(build / "web"))),
    "arm64": Level("files", "", lambda build: pytest("tests/arm64", "-n", "2")),
    "release": Level("files", "", lambda build: pytest("tests/release")),
}
# What make builds for a level of a flavour.
FLAVOURS = {"address": "address-programs", "thread": "thread-programs"}


def parts(name, build):
    """The names of what runs by itself of a level."""
    return [f"vm {part}" for part in guests(build)] if name == "vm" else [name]


def find(name, build):
    level, _, part = name.partition(" ")
    if part:
        needs, argv = guests(build)[part]
        return Level("guests", needs, lambda build: program(*argv))
    level, _, flavour = level.partition("@")
    found = LEVELS[level]
    return found._replace(needs=f"{found.needs} {FLAVOURS[flavour]}") if flavour else found


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


def made(targets, build):
    """Has make build them, one make at a time. Returns a count of failures."""
    count = Count()
    if targets:
        env = {"O": os.path.relpath(build, ROOT)} | {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        with open(build / "make.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *targets.split()], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout, end="")
            count["failed"], count.names = 1, [f"make {targets}"]
    return count


def run_part(name, build, log):
    """In a process of its own if it has a file for its output, log. Returns its count, when it began and when it ended."""
    begin = time.monotonic()
    print(f"=== {name} begins, {begin - BEGIN:.0f} s", flush=True)
    level = find(name, build)
    flavour = name.partition("@")[2]
    os.environ["BLKLAT_PLAIN"] = str(build / "blklat")
    os.environ["BLKLAT"] = str(build / flavour / "blklat")
    with contextlib.ExitStack() as undo:
        if log:
            undo.enter_context(contextlib.redirect_stdout(undo.enter_context(open(log, "w", buffering=1))))
        try:
            count = made(level.needs, build)
            if not count["failed"]:
                count = level.run(build / flavour)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            count = counted(1, Count())
    if count["failed"] and not count.names:
        count.names.append("something that gave no name")
    return count, begin, time.monotonic()


def run_parts(names, build):
    """Runs them in their lanes, and shows the output of each when it has ended. Yields names and what run_part() returns."""
    if len(names) == 1:
        yield names[0], run_part(names[0], build, None)
        return
    logs = build / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as undo:
        lanes = {lane: undo.enter_context(concurrent.futures.ProcessPoolExecutor(of.width, initializer=os.nice, initargs=(of.nice,)))
                 for lane, of in LANES.items()}
        running = {lanes[find(name, build).lane].submit(run_part, name, build, logs / name): name for name in names}
        for future in concurrent.futures.as_completed(running):
            name = running[future]
            result = future.result()
            print(f"\n=== {name}\n{(logs / name).read_text()}", end="")
            yield name, result


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    levels = sys.argv[2:]
    flavours = sorted({level.partition("@")[2] for level in levels} - {""})
    for old in [build / flavour / "reports" for flavour in flavours] + [shared(build)] * ("vm" in levels):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir(parents=True)
    total, seconds, lines, failed, passed = Count(), {}, [], [], {}
    for name, (count, begin, end) in run_parts([part for level in levels for part in parts(level, build)], build):
        lines.append(f"{end - begin:5.0f} s from {begin - BEGIN:4.0f} s   {name}: {count}")
        print(f"=== {name}: {count} in {end - begin:.0f} s\n", flush=True)
        total.add(count)
        seconds |= {f"{name}: {test}": took for test, took in count.seconds.items()}
        failed += [(f"{name}: {test}", count.wrong.get(test, ())) for test in count.names]
        # Of guests that share tests, one may have had none.
        together = re.sub(r" \d+$", "", name)
        passed[together] = passed.get(together, 0) + count["passed"]
    for flavour in flavours:
        said = reported(build / flavour)
        total["failed"] += len(said)
        failed += [(f"{flavour}: report of sanitizers: {line}", ()) for line in said]
    # A log of this length may be cut: its end says all.
    print("\n".join([*lines, f"the {LONGEST} longest tests:"]))
    for name in sorted(seconds, key=seconds.get, reverse=True)[:LONGEST]:
        print(f"{seconds[name]:5.0f} s   {name}")
    for name, wrong in failed:
        print("\n".join((f"failed at {name}", *wrong)))
    empty = [name for name, number in passed.items() if not number]
    for name in empty:
        print(f"no test of {name} passed")
    print(f"{total} in {(time.monotonic() - BEGIN) / 60:.1f} minutes", flush=True)
    return 1 if total["failed"] or empty else 0


if __name__ == "__main__":
    sys.exit(main())
