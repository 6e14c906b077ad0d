#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
r"""
Makes a recording from a script. Works by docs/recording.md alone: nothing is shared with the program, so what the program
says of such a recording can be compared with what the script says.

usage: script.py SCRIPT RECORDING ...

A script has one statement a line. Words are separated by blanks; "double quotes" protect blanks (\" and \\ work inside). A
word that begins with '#' starts a comment. First come the facts about the whole run:

  engine NAME                  the engine that captured; default "replay"
  scale 0..6                   default 6
  cpus N                       slack of the accounting; default 1
  memory BYTES                 memory that the counters took; default 64 KiB
  idle-gap TIME                an IO that comes after a pause of at least TIME counts as after-idle; default: pauses are
                               not looked for
  by size|flags|depth|beside|cgroup|process|priority|operation
                               divides each watch. Each 'io' and 'part' counts in the part that it names; by size, if it
                               names none, in that of its BYTES
  slow-max MOST                slow IOs are reported, at most MOST of a watch and interval
  interval SECONDS             as requested; default 1. The report leaves out intervals of less than half of it
  start TIME                   as 2026-11-21T07:35:00.000Z; default 1970-01-01T00:00:00Z
  device NAME [kind=TEXT] [model=TEXT] [mapper=TEXT] [scheduler=TEXT] [size=BYTES] [queues=N] [tags=N] [requests=N]
         [serial=TEXT] [wwid=TEXT] [firmware=TEXT] [path=TEXT] [volume=TEXT]
  watch NAME STAGE [later]     of a device above; STAGE is device, queue, total or wait. At least one; later: see come

Then comes what happens. It belongs to the watch that 'on' chose last, and before any 'on' to the first one:

  on NAME STAGE
  io OP LATENCY BYTES [xCOUNT] [errors=N] [in=PART] [after-idle]
                               COUNT IOs (1) complete, each of this latency and size; N of them fail. OP is read, write,
                               flush, discard or other. after-idle: each was issued after a pause
  part OP BYTES [errors=N] [in=PART]
                               a part of an unfinished IO completes, with N errors; the 'io' that ends it has the rest of
                               the bytes and errors
  slow OP LATENCY BYTES [KEY=VALUE] ... [in=PART] [xCOUNT]
                               COUNT slow IOs (1) are reported; an 'io' has to count them as well. KEY is one of ago
                               (TIME before the tick), sector, error (a blk_status_t), queue, device (LATENCY), depth,
                               beside (as PART by beside), flags (as PART by flags), hw-queue, cpu (that sent it), pid
                               with comm, thread (a kernel thread's pid), cgroup
  in-flight N [oldest=AGE [waited=TIME]]
                               as seen at each tick from now on; TIME is the sum of the ages
  busy TIME                    in the interval, at least one IO was in flight for so long
  account CELL N               N more in an account: requeued, no_start, overwritten, tag_range, table_full, before or
                               unissued
  starts +N|-N                 N start events more or less were seen than follow from the rest
  after [starts=N] [in-flight=N]
                               what was seen after the bins were read, at the next tick only: N more start events, and
                               how many IOs in flight
  kernel-ios +N|-N|unknown     the kernel counts N IOs more or less than complete here
  skipped N                    the kernel skipped N more program runs, which were not made up for; all watches together
  come                         the device has come, with all of its watches that are there later; not before the first tick
  gone                         the device is gone at the next tick, with all of its watches
  tick SECONDS [at=TIME]       the interval ends, SECONDS after the previous one; at= sets the wall clock, which otherwise
                               advances as far. A script has to end with a tick

LATENCY, AGE and TIME are a number and ns, us, ms or s. The start events of an interval follow from the rest: one for each
IO that completed, or was requeued or overwritten, and one for each that is in flight and was not before. If more IOs have
left than completed, the difference is lost without a reason, as it would be with a live engine.
"""
import bisect
import calendar
import collections
import contextlib
import decimal
import functools
import os
import pathlib
import re
import sqlite3
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent
SCRIPTS = sorted((TESTS / "cli/replay").glob("*.txt"))
# Beside the program under test; in a guest, which may only read that, where its output goes.
MADE = pathlib.Path(os.environ.get("VM_OUT", pathlib.Path(os.environ.get("BLKLAT", TESTS.parent / "build/blklat")).resolve().parent)) / "tests/replay"

OPS = ("read", "write", "flush", "discard", "other")
PARTS = {
    "size": ("4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB+"),
    "flags": ("FUA/flush", "metadata", "readahead", "sync", "writeback", "other"),
    "depth": ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129-256", "257-512", "513+"),
    "beside": ("flush", "discard", "other", "big write", "write", "read", "nothing"),
    "cgroup": ("none", "rest"),  # and a path, or NAMESPACE/POD/CONTAINER, for each other
    "process": ("kworker", "rest"),  # and NAME (PID) for each other
    "operation": ("read", "write", "flush", "discard", "zone append", "write zeroes", "secure erase", "zone open", "zone close", "zone finish",
                  "zone reset", "zone reset all", "passthrough in", "passthrough out", "other"),
    "priority": (*(f"{name}/{level}" for name in ("rt", "be") for level in range(8)), "none", "idle"),
}
ACCOUNTS = ("requeued", "no_start", "overwritten", "tag_range", "table_full", "before_start", "unissued", "empty_flush", "bios_started")
ERRORS = (None, "not supported", "timeout", "no space", "transport", "target", "reservation conflict", "medium", "protection",
          "no memory", "I/O")  # by blk_status_t
START_NS = 1000 * 10**9  # CLOCK_MONOTONIC: any time but 0, which would hide bugs that take a point in time for a duration

# Readers compare these to the letter.
TABLES = {
    "meta": "(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "device": "(id INTEGER PRIMARY KEY, name TEXT, mapper TEXT, kind TEXT, model TEXT, scheduler TEXT, major INTEGER, minor INTEGER, "
              "size_bytes INTEGER, hw_queues INTEGER, tags INTEGER, nr_requests INTEGER, parent INTEGER, iostats INTEGER, hidden INTEGER)",
    "lower": "(device INTEGER, lower INTEGER, PRIMARY KEY(device, lower)) WITHOUT ROWID",
    "identity": "(device INTEGER PRIMARY KEY, serial TEXT, wwid TEXT, firmware TEXT, path TEXT, volume TEXT)",
    "watch": "(id INTEGER PRIMARY KEY, device INTEGER, stage TEXT, part_of INTEGER, part_by TEXT, part TEXT)",
    "op": "(id INTEGER PRIMARY KEY, name TEXT)",
    "cell": "(scale INTEGER, id INTEGER, lower_ns INTEGER, upper_ns INTEGER, PRIMARY KEY(scale, id)) WITHOUT ROWID",
    "interval": "(id INTEGER PRIMARY KEY, mono_ns INTEGER, wall_ns INTEGER, skipped INTEGER, merged INTEGER)",
    "state": "(interval INTEGER, watch INTEGER, started INTEGER, started_after INTEGER, in_flight INTEGER, in_flight_after INTEGER, "
             "oldest_ns INTEGER, " + "".join(f"{account} INTEGER, " for account in ACCOUNTS) +
             "kernel_ios INTEGER, kernel_in_flight INTEGER, gone INTEGER, replaced INTEGER, unsettled INTEGER, waited_ns INTEGER, "
             "PRIMARY KEY(interval, watch)) WITHOUT ROWID",
    "series": "(interval INTEGER, watch INTEGER, op INTEGER, ios INTEGER, bytes INTEGER, errors INTEGER, sum_ns INTEGER, min_ns INTEGER, "
              "max_ns INTEGER, bins BLOB, idle_ios INTEGER, idle_sum_ns INTEGER, idle_bins BLOB, PRIMARY KEY(interval, watch, op))",
    "mark": "(mono_ns INTEGER, wall_ns INTEGER, text TEXT)",
    "busy": "(interval INTEGER, watch INTEGER, busy_ns INTEGER, PRIMARY KEY(interval, watch)) WITHOUT ROWID",
}
SLOW_TABLES = {
    "slow": "(interval INTEGER, n INTEGER, watch INTEGER, end_wall_ns INTEGER, latency_ns INTEGER, queue_ns INTEGER, device_ns INTEGER, "
            "op INTEGER, bytes INTEGER, sector INTEGER, error TEXT, hw_queue INTEGER, start_cpu INTEGER, end_cpu INTEGER, pid INTEGER, "
            "comm TEXT, kernel_thread INTEGER, cgroup TEXT, depth INTEGER, beside TEXT, flags TEXT, PRIMARY KEY(interval, n)) WITHOUT ROWID",
    "slow_found": "(interval INTEGER, watch INTEGER, found INTEGER, PRIMARY KEY(interval, watch)) WITHOUT ROWID",
}


@functools.cache
def bounds(scale):
    """The upper bounds of all cells but the last: floor(10^9 * 2^(k / 2^scale)) for 2^-26 s to 2^7 s."""
    with decimal.localcontext() as context:
        context.prec = 40
        steps = [(decimal.Decimal(2).ln() * step / 2**scale).exp() * 10**9 for step in range(2**scale)]
        return [int(step * decimal.Decimal(2) ** octave) for octave in range(-26, 7) for step in steps] + [2**7 * 10**9]


def encoded(cells):
    """The bins of docs/recording.md, of {cell: IOs}."""
    nibbles, before, following = [], 0, 0

    def put(value):
        nonlocal before
        number = 2 * (value - before) if value >= before else -2 * (value - before) - 1
        before = max(value, 0)
        while number > 7:
            nibbles.append(number & 7 | 8)
            number >>= 3
        nibbles.append(number)

    for cell in sorted(cells):
        if cell > following:
            put(1 - (cell - following))
        put(cells[cell])
        following = cell + 1
    return bytes.fromhex("".join(f"{n:x}" for n in nibbles) + "8" * (len(nibbles) % 2))


def made_up(cells):
    """The figures of a row of table series whose IOs lie in these cells, as SQL."""
    ios, low, high = {cell: 1 + cell % 3 * 1000 for cell in cells}, bounds(6)[min(cells)], bounds(6)[max(cells)]
    return f"ios = {sum(ios.values())}, sum_ns = {sum(ios.values()) * low}, min_ns = {low}, max_ns = {high}, bins = x'{encoded(ios).hex()}'"


@functools.cache
def nanoseconds(text):
    """60us; a bare number has no unit."""
    number, unit = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)", text).groups()
    ns = decimal.Decimal(number) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[unit]
    if ns != int(ns):
        raise ValueError(f"{text} is not whole in ns")
    return int(ns)


def wall_clock(text):
    second, fraction = re.fullmatch(r"([0-9T:-]{19})(?:\.([0-9]{1,9}))?Z", text).groups()
    return calendar.timegm(time.strptime(second, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int((fraction or "0").ljust(9, "0"))


def words_of(line):
    """The words of a line, without their quotes."""
    found = []
    for word in re.findall(r'(?:"(?:\\["\\]|[^"])*"|[^\s"])+', line):
        if word[0] == "#":
            break
        found.append(re.sub(r'"((?:\\["\\]|[^"])*)"', lambda quoted: re.sub(r'\\(["\\])', r"\1", quoted[1]), word))
    return found


def pairs(words):
    """{key: value} of "key=value"; a word without "=" is a key, too; "x9" is {"x": "9"}."""
    return {word[0] if word[0] == "x" and word[1:].isdigit() else word.partition("=")[0]:
            word[1:] if word[0] == "x" and word[1:].isdigit() else word.partition("=")[2] for word in words}


def size_part(size):
    """Rounded up to a power of two: up to 4 KiB, 8 KiB ..., and more than 512 KiB."""
    return PARTS["size"][min(max(size - 1, 0).bit_length() - 12 if size > 4096 else 0, 8)]


class Series:
    def __init__(self):
        self.ios = self.bytes = self.errors = self.sum_ns = self.idle_ios = self.idle_sum_ns = 0
        self.min_ns = self.max_ns = None
        self.cells, self.idle_cells = collections.Counter(), collections.Counter()


class Watch:
    """A whole: its state, and what its parts (None: it is not divided) counted in the interval."""

    def __init__(self, number, device, stage):
        self.number, self.device, self.stage = number, device, stage
        self.started = self.in_flight = self.in_flight_before = self.oldest_ns = self.waited_ns = 0
        self.completed = self.kernel_more = 0
        self.accounts = dict.fromkeys(ACCOUNTS, 0)
        self.kernel_known, self.there, self.gone, self.gone_before = True, True, False, False
        self.begin()

    def begin(self):
        self.series = collections.defaultdict(Series)
        self.slow = []
        self.ended = self.starts = self.after_starts = self.busy_ns = 0
        self.after_in_flight = None


class Run:
    def __init__(self):
        self.engine, self.scale, self.cpus, self.memory, self.idle_gap_ns, self.interval_s = "replay", 6, 1, 65536, 0, 1.0
        self.by, self.labels, self.slow_max = None, {}, 0  # of each part its number, from 1
        self.devices, self.watches, self.on = {}, {}, None
        self.mono_ns, self.wall_ns, self.skipped, self.intervals, self.n_slow = START_NS, 0, 0, 0, 0
        self.rows = collections.defaultdict(list)
        self.cell_of = functools.cache(lambda ns: bisect.bisect_left(bounds(self.scale), ns))
        self.idle_cell_of = functools.cache(lambda ns: bisect.bisect_left(bounds(min(self.scale, 3)), ns))

    # --- facts about the whole run ---

    def do_engine(self, name):
        self.engine = name

    def do_scale(self, scale):
        self.scale = int(scale)

    def do_cpus(self, cpus):
        self.cpus = int(cpus)

    def do_memory(self, size):
        self.memory = int(size)

    def do_interval(self, seconds):
        self.interval_s = float(seconds)

    def do_idle_gap(self, gap):
        self.idle_gap_ns = nanoseconds(gap)

    def do_by(self, by):
        self.by = by
        self.labels = {label: number for number, label in enumerate(PARTS[by], 1)}

    def do_slow_max(self, most):
        self.slow_max = int(most)

    def do_start(self, at):
        self.wall_ns = wall_clock(at)

    def do_device(self, name, *words):
        self.devices[name] = pairs(words)

    def do_watch(self, name, stage, *later):
        self.watches[name, stage] = watch = Watch(len(self.watches), list(self.devices).index(name), stage)
        watch.there = later != ("later",)
        self.on = self.on or watch

    # --- what happens ---

    def do_on(self, name, stage):
        self.on = self.watches[name, stage]

    def part_of(self, facts, size):
        """Takes the part out of the facts."""
        label = facts.pop("in", None)
        if self.by == "size" and label is None:
            label = size_part(size)
        if self.by == "cgroup" and "/" in label or self.by == "process" and label.endswith(")"):
            self.labels.setdefault(label, 1 + len(self.labels))
        if label not in self.labels if self.by else label is not None:
            raise ValueError(f"{label} is not a part by {self.by}")
        return label

    def do_io(self, op, latency, size, *words):
        facts, ns, size = pairs(words), nanoseconds(latency), int(size)
        series = self.on.series[self.part_of(facts, size), OPS.index(op)]
        count, after_idle = int(facts.pop("x", 1)), "after-idle" in facts
        series.errors += int(facts.pop("errors", 0))
        if facts.keys() - {"after-idle"}:
            raise ValueError(f"unknown: {facts}")
        if not count:
            return
        series.ios += count
        series.bytes += count * size
        series.sum_ns += count * ns
        series.min_ns = ns if series.min_ns is None else min(series.min_ns, ns)
        series.max_ns = ns if series.max_ns is None else max(series.max_ns, ns)
        series.cells[self.cell_of(ns)] += count
        self.on.ended += count
        if after_idle:
            series.idle_ios += count
            series.idle_sum_ns += count * ns
            series.idle_cells[self.idle_cell_of(ns)] += count

    def do_part(self, op, size, *words):
        facts, size = pairs(words), int(size)
        series = self.on.series[self.part_of(facts, size), OPS.index(op)]
        series.bytes += size
        series.errors += int(facts.pop("errors", 0))

    def do_slow(self, op, latency, size, *words):
        """Keeps (part, time before the tick, what follows in the row)."""
        facts = pairs(words)
        part, count = self.part_of(facts, int(size)), int(facts.pop("x", 1))
        ago_ns, queue_ns, device_ns = (nanoseconds(facts.pop(key, "0ns")) for key in ("ago", "queue", "device"))
        sector, error, hw_queue, cpu, pid, thread, depth = (
            int(facts.pop(key)) if key in facts else None for key in ("sector", "error", "hw-queue", "cpu", "pid", "thread", "depth"))
        comm, cgroup, beside, flags = (facts.pop(key, None) for key in ("comm", "cgroup", "beside", "flags"))
        if facts:
            raise ValueError(f"unknown: {facts}")
        sender = (None, None, None)
        if pid is not None or thread is not None:
            sender = (pid if thread is None else thread, comm or "", int(thread is not None))
        self.on.slow += [(part, ago_ns, (nanoseconds(latency), queue_ns or None, device_ns or None, OPS.index(op), int(size), sector,
                                         ERRORS[min(error or 0, 10)], hw_queue, cpu, 0, *sender, cgroup, depth, beside, flags))] * count

    def do_in_flight(self, n, *words):
        facts = pairs(words)
        self.on.in_flight = int(n)
        self.on.oldest_ns, self.on.waited_ns = (nanoseconds(facts.get(key, "0ns")) for key in ("oldest", "waited"))

    def do_busy(self, time):
        self.on.busy_ns = nanoseconds(time)

    def do_account(self, cell, n):
        self.on.accounts["before_start" if cell == "before" else cell] += int(n)
        if cell in ("requeued", "overwritten"):
            self.on.starts += int(n)

    def do_starts(self, difference):
        self.on.starts += int(difference)

    def do_after(self, *words):
        facts = pairs(words)
        self.on.after_starts = int(facts.get("starts", 0))
        self.on.after_in_flight = int(facts["in-flight"]) if "in-flight" in facts else None

    def do_kernel_ios(self, difference):
        if difference == "unknown":
            self.on.kernel_known = False
        else:
            self.on.kernel_more += int(difference)

    def do_skipped(self, n):
        self.skipped += int(n)

    def do_come(self):
        for watch in self.watches.values():
            watch.there |= watch.device == self.on.device

    def do_gone(self):
        for watch in self.watches.values():
            watch.gone |= watch.device == self.on.device

    def do_tick(self, seconds, at=None):
        length_ns = nanoseconds(seconds + "s")
        if not self.intervals:
            self.rows["interval"].append((0, self.mono_ns, self.wall_ns, 0, 0))
        self.intervals += 1
        self.mono_ns += length_ns
        self.wall_ns = wall_clock(at.removeprefix("at=")) if at else self.wall_ns + length_ns
        self.rows["interval"].append((self.intervals, self.mono_ns, self.wall_ns, self.skipped, 1))
        for watch in self.watches.values():
            if watch.there and not watch.gone_before:
                self.end_state(watch)
            self.end_series(watch)
            self.end_slow(watch)
            watch.begin()

    # --- rows ---

    def end_state(self, watch):
        implied = max(0, watch.ended + watch.in_flight - watch.in_flight_before)
        watch.started = max(0, watch.started + watch.starts + implied)
        watch.completed += watch.ended
        watch.in_flight_before, watch.gone_before = watch.in_flight, watch.gone
        if watch.stage in ("total", "wait"):  # bios have no slots; their starts are counted in an account
            watch.accounts["bios_started"] = watch.started
        kernel = (None, None)
        if watch.kernel_known:  # IOs that only the kernel has counted are no longer in flight there
            kernel = (max(0, watch.completed + watch.kernel_more), max(0, watch.in_flight - max(0, watch.kernel_more)))
        in_flight_after = watch.in_flight if watch.after_in_flight is None else watch.after_in_flight
        self.rows["state"].append((self.intervals, (watch, None), watch.started, watch.started + watch.after_starts, watch.in_flight,
                                   in_flight_after, watch.oldest_ns, *watch.accounts.values(), *kernel, int(watch.gone), 0, 0,
                                   watch.waited_ns))

        if watch.busy_ns:
            self.rows["busy"].append((self.intervals, (watch, None), watch.busy_ns))

    def end_series(self, watch):
        for (part, op), s in watch.series.items():
            if s.ios or s.bytes or s.errors:
                self.rows["series"].append((self.intervals, (watch, part), op, s.ios, s.bytes, s.errors, s.sum_ns, s.min_ns, s.max_ns,
                                            encoded(s.cells), s.idle_ios, s.idle_sum_ns, encoded(s.idle_cells)))

    def end_slow(self, watch):
        """Those that failed come first, then the slowest."""
        watch.slow.sort(key=lambda io: (io[2][6] is None, -io[2][0], -io[1]))
        for part, ago_ns, row in watch.slow[:self.slow_max]:
            self.rows["slow"].append((self.intervals, self.n_slow, (watch, part), self.wall_ns - ago_ns, *row))
            self.n_slow += 1
        if watch.slow:
            self.rows["slow_found"].append((self.intervals, (watch, None), len(watch.slow)))

    def end_facts(self):
        rows, watched = self.rows, sorted({watch.device for watch in self.watches.values()})
        rows["meta"] = list({
            "version": "0", "engine": self.engine, "host": "a-host", "kernel": "6.1.0", "command": "script.py", "label": "",
            "scale": self.scale, "cpus": self.cpus, "memory_bytes": self.memory, "interval_s": self.interval_s, "percentiles": "p50,p90,p99,p99.9,p99.99",
            "idle_gap_ns": self.idle_gap_ns, "dropped": 0, "finished": 1, **({"slow_most": self.slow_max} if self.slow_max else {}),
        }.items())
        for number, device in enumerate(watched):
            name, facts = list(self.devices.items())[device]
            rows["device"].append((number, name, *(facts.get(key, "") for key in ("mapper", "kind", "model", "scheduler")), 0, 0,
                                   int(facts.get("size", 0)), int(facts.get("queues", 1)), int(facts.get("tags", 0)), int(facts.get("requests", 0)),
                                   None, 0, 0))
            known = [facts.get(key, "") for key in ("serial", "wwid", "firmware", "path", "volume")]
            rows["identity"] += [(number, *known)] if any(known) else []
        for watch in self.watches.values():
            device = watched.index(watch.device)
            rows["watch"].append(((watch, None), device, watch.stage, None, None, None))
            rows["watch"] += [((watch, label), device, watch.stage, (watch, None), self.by, label) for label in self.labels]
        rows["op"] = list(enumerate(OPS))
        for scale in {self.scale, min(self.scale, 3)}:
            rows["cell"] += [(scale, cell, *limits) for cell, limits in enumerate(zip([0, *bounds(scale)], [*bounds(scale), None]))]

    def value(self, value, is_text):
        """What goes into a column. A watch's id depends on the number of parts. A script's text need not be UTF-8."""
        if isinstance(value, tuple):
            watch, part = value
            return watch.number * (1 + len(self.labels)) + (0 if part is None else self.labels[part])
        return value.encode("utf-8", "surrogateescape") if is_text and value is not None else value

    def write(self, file):
        self.end_facts()
        with contextlib.closing(sqlite3.connect(file)) as db:
            db.executescript("PRAGMA synchronous = OFF; PRAGMA application_id = 0x626c6b6c; PRAGMA user_version = 3; BEGIN;")
            for table, columns in {**TABLES, **(SLOW_TABLES if self.slow_max else {})}.items():
                db.execute(f"CREATE TABLE {table}{columns}")
                text = [kind == "TEXT" for _, _, kind, *_ in db.execute(f"PRAGMA table_info({table})")]
                values = ", ".join("CAST(? AS TEXT)" if is_text else "?" for is_text in text)
                db.executemany(f"INSERT INTO {table} VALUES({values})", (list(map(self.value, row, text)) for row in self.rows[table]))
            db.commit()


def write_recording(script, file):
    """Makes a recording from a script, a text or the path of a file. Returns the recording's path."""
    text = script if isinstance(script, str) else script.read_text("utf-8", "surrogateescape")
    run = Run()
    first, *lines = text.split("\n")
    if first != "blklat-replay 1":
        raise ValueError("the first line of a script is 'blklat-replay 1'")
    for number, line in enumerate(lines, 2):
        if words := words_of(line):
            try:
                getattr(run, "do_" + words[0].replace("-", "_"))(*words[1:])
            except Exception as e:
                raise ValueError(f"line {number}: {line}") from e
    path = pathlib.Path(file)
    path.unlink(missing_ok=True)
    run.write(path)
    return path


def recorded(script):
    """The recording of one of SCRIPTS, in MADE. It is made once; several tests may ask at once."""
    file = MADE / f"{script.stem}.blklat"
    if not file.exists() or file.stat().st_mtime < max(os.stat(source).st_mtime for source in (script, __file__)):
        MADE.mkdir(parents=True, exist_ok=True)
        write_recording(script, MADE / f"{script.stem}.{os.getpid()}").replace(file)
    return file


if __name__ == "__main__":
    for source, made in zip(sys.argv[1::2], sys.argv[2::2]):
        write_recording(pathlib.Path(source), made)
