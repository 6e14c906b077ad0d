# SPDX-License-Identifier: GPL-2.0-only
"""
Reads recordings of blklat(8), for notebooks and scripts. Needs nothing but Python's own library.

    import blklat
    run = blklat.read("run.blklat")
    run.figures()                             # IOs, rates, latencies: a row for each interval, device, stage and op
    run.figures(merge=True, start=10, end=20) # one row of these 10 s, with the percentiles of all their IOs
    run.bins(parts=True)                      # the histograms; a recording made with --by has a row for each part

These are DataFrames of pandas or polars where one of them is installed, else lists of dictionaries; read(path, frames="polars")
chooses, frames=False takes lists. Latencies are nanoseconds, 'time' is the end of an interval. docs/recording.md has the tables
themselves, and run.db is the connection to ask for more.
"""
import collections
import datetime
import fractions
import importlib
import math
import pathlib
import sqlite3

PERCENTILES = (50, 90, 99, 99.9, 99.99)
APPLICATION, VERSION = 0x626c6b6c, 3


def read(path, frames=None):
    """Opens a recording that has ended. Raises ValueError if it is none of this version."""
    return Run(path, _table(frames))


def _table(frames):
    if frames is False:
        return list
    for name in [frames] if frames else ["pandas", "polars"]:
        try:
            return importlib.import_module(name).DataFrame
        except ImportError:
            if frames:
                raise
    return list


def cells(bins):
    """Yields (cell, IOs) of those in use."""
    cell = ios = number = shift = 0
    for digit in bins.hex():
        nibble = int(digit, 16)
        number |= (nibble & 7) << shift
        shift += 3
        if nibble < 8:
            value = ios + (-(number + 1) // 2 if number % 2 else number // 2)
            ios = max(value, 0)
            if ios:
                yield cell, ios
            cell += 1 if ios else 1 - value
            number = shift = 0


class Histogram:
    """IOs of one or more intervals: ios, bytes, errors, sum_ns, min_ns, max_ns, and counts, {cell: IOs}."""

    def __init__(self):
        self.ios = self.bytes = self.errors = self.sum_ns = self.max_ns = 0
        self.min_ns = math.inf
        self.counts = collections.Counter()

    def add(self, row):
        self.ios += row["ios"]
        self.bytes += row["bytes"]
        self.errors += row["errors"]
        self.sum_ns += row["sum_ns"]
        if row["ios"]:
            self.min_ns = min(self.min_ns, row["min_ns"])
            self.max_ns = max(self.max_ns, row["max_ns"])
            for cell, ios in cells(row["bins"]):
                self.counts[cell] += ios

    def percentile(self, percent, bounds):
        """As blklat computes it: the IO of rank ceil(percent/100 * n), interpolated within its bin. None without IOs."""
        rank = max(1, math.ceil(fractions.Fraction(str(percent)) / 100 * self.ios))
        if not self.ios:
            return None
        # The smallest and the greatest are known exactly.
        if rank in (1, self.ios):
            return float(self.max_ns if rank == self.ios else self.min_ns)
        before = 0
        for cell in sorted(self.counts):
            ios = self.counts[cell]
            if before + ios >= rank:
                break
            before += ios
        lower, upper = bounds[cell]
        if not lower or upper is None:
            return float(self.max_ns if lower else self.min_ns)
        lower, upper = max(lower, self.min_ns), min(upper, self.max_ns)
        return min(max(lower * (upper / lower) ** ((rank - before - 0.5) / ios), self.min_ns), self.max_ns)


class Run:
    """A recording: meta (a dictionary), devices and marks (lists of dictionaries), figures() and bins()."""

    def __init__(self, path, table):
        self.table = table
        self.db = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        try:
            found = tuple(self._rows(f"PRAGMA {name}")[0][name] for name in ("application_id", "user_version"))
        except sqlite3.DatabaseError as e:
            raise ValueError(f"{path} can't be read: {e} (while it is being recorded: 'blklat record --quiet --replay' makes a copy)") from e
        if found != (APPLICATION, VERSION):
            raise ValueError(f"{path} is no recording of version {VERSION}")
        self.meta = {row["key"]: row["value"] for row in self._rows("SELECT key, value FROM meta")}
        self.devices = self._rows("SELECT * FROM device")
        self.start_ns = self._rows("SELECT mono_ns FROM interval ORDER BY id LIMIT 1")[0]["mono_ns"]
        self.marks = self._rows("SELECT (mono_ns - ?) / 1e9 AS time_s, text FROM mark ORDER BY mono_ns", self.start_ns)
        # {cell: (lower, exclusive; upper, inclusive, None above the grid)}
        self.bounds = {row["id"]: (row["lower_ns"], row["upper_ns"])
                       for row in self._rows("SELECT * FROM cell WHERE scale = ?", int(self.meta["scale"]))}

    def _rows(self, query, *values):
        return [dict(row) for row in self.db.execute(query, values)]

    def _intervals(self, start, end):
        """{id: (end as a date, length in s)} of those whose middle lies in the window; without the first row, which is before all."""
        found, begin = {}, self.start_ns
        for row in self._rows("SELECT id, mono_ns, wall_ns FROM interval WHERE merged ORDER BY id"):
            middle = ((begin + row["mono_ns"]) / 2 - self.start_ns) / 1e9
            if (start is None or middle >= start) and (end is None or middle < end):
                time = datetime.datetime.fromtimestamp(row["wall_ns"] // 1000 / 1e6, datetime.timezone.utc)
                found[row["id"]] = time, (row["mono_ns"] - begin) / 1e9
            begin = row["mono_ns"]
        return found

    def histograms(self, start=None, end=None, merge=False, parts=False):
        """Yields ({time, length_s, device, stage, op, and part if asked for}, Histogram), in order of time."""
        intervals, found = self._intervals(start, end), {}
        if not intervals:
            return
        last, whole = max(intervals), sum(length for _, length in intervals.values())
        for row in self.db.execute("""SELECT series.*, device.name AS device, watch.stage, watch.part, op.name AS op_name FROM series
                JOIN watch ON watch.id = series.watch JOIN device ON device.id = watch.device JOIN op ON op.id = series.op
                WHERE interval BETWEEN ? AND ? ORDER BY interval, series.watch, op""", (min(intervals), last)):
            key = last if merge else row["interval"], row["device"], row["stage"], row["op_name"], row["part"] if parts else None
            found.setdefault(key, Histogram()).add(row)
        for (interval, device, stage, op, part), histogram in found.items():
            time, length = intervals[interval]
            name = {"time": time, "length_s": whole if merge else length, "device": device, "stage": stage, "op": op}
            yield name | ({"part": part} if parts else {}), histogram

    def figures(self, percentiles=PERCENTILES, start=None, end=None, merge=False, parts=False):
        """
        IOs, rates and latencies: of each interval, or with merge of all together; of those whose middle lies between start and end (seconds);
        of each device and stage, or with parts of each part of it.
        """
        rows = []
        for name, h in self.histograms(start, end, merge, parts):
            rows.append(name | {"ios": h.ios, "bytes": h.bytes, "errors": h.errors, "iops": h.ios / name["length_s"],
                                "bytes_per_s": h.bytes / name["length_s"], "mean_ns": h.sum_ns / h.ios if h.ios else None,
                                "min_ns": h.min_ns if h.ios else None, "max_ns": h.max_ns if h.ios else None}
                        | {f"p{p:g}_ns": h.percentile(p, self.bounds) for p in percentiles})
        return self.table(rows)

    def bins(self, start=None, end=None, merge=False, parts=False):
        """A row for each bin in use: lower_ns (exclusive), upper_ns (inclusive, None above 128 s), ios. As figures() otherwise."""
        rows = []
        for name, h in self.histograms(start, end, merge, parts):
            for cell in sorted(h.counts):
                lower, upper = self.bounds[cell]
                rows.append(name | {"lower_ns": lower, "upper_ns": upper, "ios": h.counts[cell]})
        return self.table(rows)
