# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of a folder, as 'serve --record' makes them, are one run: the same as a single recording of the whole time."""
import datetime
import json
import re
import shutil
import subprocess

import pytest
from recordings import BLKLAT, blklat
from script import write_recording
from sql import change

BEGIN = datetime.datetime(2026, 11, 21, 2, 59, tzinfo=datetime.timezone.utc)
HEAD = """blklat-replay 1
engine bpf
cpus 1
by size
slow-max 5
device sda size=1920383410176
watch sda device
"""
SDB = "device sdb size=1920383410176\nwatch sdb device"


def second(i, devices):
    """What happens in one: no two are alike. 3 IOs are in flight at its end, some are lost, some slow."""
    lines = []
    for d in devices:
        lines += [f"on {d} device", f"io read {90 + i % 7}us 4096 x{100 + i}", f"io write {50 + i % 11}us 65536 x{10 + i % 3}", "in-flight 3 oldest=40us"]
        lines += ["io read 30ms 4096", f'slow read 30ms 4096 sector={i} in="4 KiB"'] if i % 5 == 0 else []
        lines += ["account overwritten 1"] if i % 9 == 2 else []
        lines += ["skipped 1"] if i % 20 == 7 and d == "sda" else []
    return [*lines, "tick 1"]


def write(folder, name, seconds, *, later=None, devices=("sda",)):
    """A recording of some @seconds; sdb comes in second @later."""
    start = BEGIN + datetime.timedelta(seconds=seconds[0])
    lines = [f"start {start:%Y-%m-%dT%H:%M:%S}.000Z"]
    lines += [SDB + (" later" if later else "")] if later or "sdb" in devices else []
    for i in seconds:
        lines += ["on sdb device", "come"] if i == later else []
        lines += second(i, ("sda", "sdb") if later and i >= later else devices)
    return write_recording(HEAD + "\n".join(lines), folder / (name or f"{start:%Y-%m-%dT%H-%M-%S}Z.blklat"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """120 s in three recordings; a second device comes after 60 s, with the second of them."""
    folder = tmp_path_factory.mktemp("kept")
    write(folder, None, range(60))
    write(folder, None, range(60, 90), devices=("sda", "sdb"))
    write(folder, None, range(90, 120), devices=("sda", "sdb"))
    (folder / "notes.txt").write_text("of somebody else")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write(tmp_path_factory.mktemp("whole"), "whole.blklat", range(120), later=60)


def run_of(file, *args, gaps=0):
    r = subprocess.run([BLKLAT, "report", "--format", "json", *map(str, (file, *args))], capture_output=True, text=True, timeout=60, check=True)
    assert r.stderr.count("\n") == r.stderr.count("nothing was recorded from") == gaps, r.stderr
    run, = json.loads(r.stdout)["runs"]
    assert run.pop("file") == str(file) and run.pop("name") == file.name
    return run


def test_a_folder_is_one_run(folder, whole):
    joined, single = run_of(folder), run_of(whole)
    assert len(joined["start_s"]) == 120 and {w["device"] for w in joined["watches"]} == {"sda", "sdb"}
    assert joined == single


@pytest.mark.parametrize("window", [
    ("03:00", "03:00:40"), ("2026-11-21T02:59:50", "2026-11-21T04:00:15+01:00"), ("70", "80"), ("65s", None), (None, "02:59:30"), ("03:00:35", None)])
def test_a_window_of_a_folder(folder, whole, window):
    """The same intervals, and figures, whichever recordings they are in. The axis begins with the first recording that has to be read."""
    args = [word for option, value in zip(("--from", "--to"), window) if value for word in (option, value)]
    joined, single = run_of(folder, *args), run_of(whole, *args)
    shift = single["start_s"][0] - joined["start_s"][0]
    assert shift in (0, 60, 90) and [s + shift for s in joined["start_s"]] == pytest.approx(single["start_s"])

    def figures(run):
        return {(w["device"], str(w.get("part")), op["op"]): (op["ios"], op["total"]["ios"], op["total"]["latency_ns"], op["bins"])
                for w in run["watches"] for op in w["ops"]}

    def accounts(run):
        # Of the others, those that were left out are known if something of the recording was.
        names = "started", "completed", "in_flight", "lost_by"
        return [(w["device"], *(w["accounting"][name] for name in names)) for w in run["watches"] if "accounting" in w]
    assert {k: v for k, v in figures(joined).items() if v[1]} == {k: v for k, v in figures(single).items() if v[1]}
    assert accounts(single) and accounts(joined) == [a for a in accounts(single) if a[0] in {w["device"] for w in joined["watches"]}]


def refused(*args):
    r = subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert r.stderr.count("\n") == 1 and not r.stdout, (r.stdout, r.stderr)
    return r.returncode, r.stderr


def test_only_the_recordings_that_it_takes_are_read(folder, tmp_path):
    for file in folder.glob("*.blklat"):
        (tmp_path / file.name).write_bytes(file.read_bytes() if "02-59-00" in file.name else b"not a recording")
    assert len(run_of(tmp_path, "--to", "03:00")["start_s"]) == 60
    status, said = refused("report", "-f", "text", tmp_path, "--to", "03:00:01")
    assert status == 1 and "03-00-00Z.blklat: is not a recording" in said


def test_recorders_that_were_killed_as_they_began(folder, tmp_path):
    """A file is empty, has no table or no interval. This hides nothing of the others."""
    files = [tmp_path / f"2026-11-21T03-00-{second}Z.blklat" for second in (10, 20, 40)]
    files[0].touch()
    change(files[1], "CREATE TABLE some(thing)", "DROP TABLE some")
    change(shutil.copy(next(folder.glob("*.blklat")), files[2]), "DELETE FROM interval")
    status, said = refused("report", "-f", "text", tmp_path)
    assert status == 1 and f"{files[2]}: has no intervals" in said
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert len(run_of(tmp_path)["start_s"]) == 120


def test_a_time_of_day_is_the_last_one(tmp_path):
    """Of two days, and not in the first."""
    write(tmp_path, None, range(0, 60))
    write(tmp_path, None, range(86400, 86460))
    for args, starts in ((("--from", "02:59:10", "--to", "02:59:12"), "2026-11-22T02:59:00.000Z"),
                         (("--from", "2026-11-21T02:59:10", "--to", "2026-11-21T02:59:12"), "2026-11-21T02:59:00.000Z")):
        run = run_of(tmp_path, *args)
        assert (run["start"], run["start_s"]) == (starts, [10, 11])


def test_a_time_before_now(tmp_path):
    ago = int((datetime.datetime.now(datetime.timezone.utc) - BEGIN).total_seconds())
    write(tmp_path, None, range(ago - 14400, ago - 14390))
    write(tmp_path, None, range(ago - 1800, ago - 1790))
    assert (len(run_of(tmp_path, gaps=1)["start_s"]), run_of(tmp_path, "--from", "-1h")["start_s"]) == (20, list(range(10)))


def test_another_boot(tmp_path, folder):
    """The clock of the machine began anew, as in all of these recordings, and there is a gap of an hour: time goes on by the wall's."""
    write(tmp_path, None, range(0, 10))
    write(tmp_path, None, range(3610, 3620))
    run = run_of(tmp_path, gaps=1)
    assert run["start_s"] == pytest.approx([*range(10), *range(3610, 3620)])
    times = [slow["t_s"] for w in run["watches"] for slow in w.get("slow", {}).get("ios", [])]
    assert times == sorted(times)


def test_gaps_are_told(tmp_path, folder):
    """A minute later, when nobody recorded; of many the first three."""
    begins = [0, 70, 80, 140, 200, 260]
    for begin in begins[:2]:
        write(tmp_path, None, range(begin, begin + 10))

    def said(where):
        return subprocess.run([BLKLAT, "report", "-f", "json", where], capture_output=True, text=True, timeout=60, check=True).stderr.splitlines()
    assert said(tmp_path) == [f"blklat report: {tmp_path}: nothing was recorded from 2026-11-21T02:59:10.000Z to 2026-11-21T03:00:10.000Z"]
    for begin in begins[2:]:
        write(tmp_path, None, range(begin, begin + 10))
    lines = said(tmp_path)
    assert len(lines) == 4 and lines[2].endswith("from 2026-11-21T03:01:30.000Z to 2026-11-21T03:02:20.000Z")
    assert lines[3] == f"blklat report: {tmp_path}: and at 1 more time" and said(folder) == []


def test_marks_of_all_are_marks_of_the_run(tmp_path):
    files = write(tmp_path, None, range(0, 60)), write(tmp_path, None, range(60, 120))
    blklat("mark", "--at", "20", files[0], "before")
    blklat("mark", "--at", "10", files[1], "after")
    run = run_of(tmp_path, "--from", "before", "--to", "after")
    assert [mark["text"] for mark in run["marks"]] == ["before", "after"] and run["start_s"] == list(range(20, 70))


def test_a_folder_is_compared(folder, whole):
    said = blklat("compare", folder, whole)
    assert re.search(r"equal within 1 %", said)


def test_folders_that_are_no_run(tmp_path, folder):
    assert refused("report", "-f", "text", tmp_path) == (
        1, f"blklat report: {tmp_path}: holds no recording of 'blklat serve --record': name the files instead\n")
    status, said = refused("report", "-f", "text", folder, "--from", "2026-11-20T03:00", "--to", "2026-11-20T03:10")
    assert status == 2 and "no interval lies between 2026-11-20T03:00:00.000Z and 2026-11-20T03:10:00.000Z, as --from and --to ask: the recording next to that time ends at 2026-11-21T" in said
    first, second_file = sorted(folder.glob("*.blklat"))[:2]
    (tmp_path / first.name).write_bytes(first.read_bytes())
    write_recording(HEAD.replace("by size", "by flags") + 'start 2026-11-21T03:00:00.000Z\nio read 1ms 4096 in=sync\ntick 1', tmp_path / second_file.name)
    status, said = refused("report", "-f", "text", tmp_path)
    assert status == 2 and "divided in different ways (--by)" in said
