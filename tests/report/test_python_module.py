# SPDX-License-Identifier: GPL-2.0-only
"""blklat.py: its figures are the program's, of every recording that the tests have, by interval, of a window and of the whole."""
import csv
import importlib.util
import io
import json

import pytest
from asked import answer
from script import SCRIPTS, TESTS, recorded

spec = importlib.util.spec_from_file_location("blklat_module", TESTS.parent / "packaging/python/blklat.py")
blklat = importlib.util.module_from_spec(spec)
spec.loader.exec_module(blklat)
FIGURES = "bytes_per_s", "iops", "mean_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns"
BIN = "bin_lower_ns", "bin_upper_ns", "bin_ios"


def program(*args):
    r = answer(*map(str, args))
    assert r.returncode == 0, r.stderr
    return r.stdout


def test_every_interval():
    """Figures to the last digit that the table has, and bins."""
    compared = 0
    for script in SCRIPTS:
        figures, bins = {}, {}
        for row in csv.DictReader(io.StringIO(program("export", recorded(script)))):
            key = row["time"], row["device"], row["stage"], row["op"], row.get("part", "")
            if row["bin_ios"]:
                bins.setdefault(key, []).append(tuple(int(row[column] or -1) for column in BIN))
            elif row["op"] != "-":
                figures[key] = row
        pieces = any(int(row["partial_bytes"]) for row in figures.values())
        run, mine = blklat.read(recorded(script), frames=False), {}
        for parts in (False, True):
            # Parts of an undivided device are the device itself.
            for row in run.figures(parts=parts):
                if row["ios"]:
                    mine[row["time"].isoformat(timespec="milliseconds")[:23] + "Z", row["device"], row["stage"], row["op"], row.get("part") or ""] = row
        assert mine.keys() == figures.keys(), script
        for key, row in mine.items():
            assert row["ios"] == int(figures[key]["ios"])
            # The program shows bytes of a piece of an IO with the IO, the file has them when they were counted.
            for name in FIGURES[pieces:]:
                assert row[name] == pytest.approx(float(figures[key][name]), abs=0.051), (script, key, name)
                compared += 1
        seen = {}
        for parts in (False, True):
            for row in run.bins(parts=parts):
                key = row["time"].isoformat(timespec="milliseconds")[:23] + "Z", row["device"], row["stage"], row["op"], row.get("part") or ""
                seen.setdefault(key, set()).add((row["lower_ns"], -1 if row["upper_ns"] is None else row["upper_ns"], row["ios"]))
        assert seen == {key: set(rows) for key, rows in bins.items()}, script
    assert compared > 1000


@pytest.mark.parametrize("script", ["mixed.txt", "sizes.txt", "nvme.txt", "pauses.txt"])
@pytest.mark.parametrize("window", [{}, {"start": 1}, {"end": 1.5}, {"start": 1, "end": 2}], ids=str)
def test_merged_over_a_window(script, window):
    """As a report of that window has them: counts, extremes and percentiles of all IOs, not means of percentiles."""
    file = recorded(TESTS / "cli/replay" / script)
    options = [f"--{ {'start': 'from', 'end': 'to'}[name]}={value}" for name, value in window.items()]
    [run] = json.loads(program("report", "--format", "json", *options, file))["runs"]
    theirs = {(w["device"], w["stage"], op["op"]): op["total"] for w in run["watches"] if "part" not in w for op in w["ops"] if op["total"]["ios"]}
    mine = {(row["device"], row["stage"], row["op"]): row for row in blklat.read(file, frames=False).figures(merge=True, **window) if row["ios"]}
    assert theirs and mine.keys() == theirs.keys()
    for key, row in mine.items():
        latency = theirs[key]["latency_ns"]
        assert row["ios"] == theirs[key]["ios"]
        for name in ("mean", "min", "max", "p50", "p99", "p99.9"):
            assert row[f"{name}_ns"] == pytest.approx(latency[name], abs=0.051), (key, name)


def test_what_is_no_recording(tmp_path):
    (tmp_path / "text").write_text("x" * 1000)
    for name in ("text", "missing"):
        with pytest.raises((ValueError, OSError, blklat.sqlite3.OperationalError), match="can't be read|unable to open"):
            blklat.read(tmp_path / name)
    other = blklat.sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE meta(key, value)")
    other.close()
    with pytest.raises(ValueError, match="is no recording of version 3"):
        blklat.read(tmp_path / "other")
