# SPDX-License-Identifier: GPL-2.0-only
"""
An incident that is known to the last IO: eight drives with a database on each, and a backup that begins on one of them at a time that
is drawn by lot. It is read live with two keys, and later from files alone with two commands. (tests/host/test_top_devices.py has the
keys with real loads.)
"""
import datetime
import json
import random
import re
import shutil
import subprocess

import pytest
from command import BLKLAT
from screen import Screen
from script import write_recording

BEGIN = datetime.datetime(2026, 11, 21, 3, 5, tzinfo=datetime.timezone.utc)
INTERVALS = 240     # of a second
DATABASE, BACKUP = "/database.slice/postgresql.service", "/system.slice/nightly-backup.service"
DRIVES = [f"nvme{i}n1" for i in range(8)]


class Incident:
    def __init__(self):
        self.victim, self.first, self.n = random.choice(DRIVES), random.randrange(100, 140), random.randrange(60, 80)

    def write(self, file, intervals=range(INTERVALS)):
        lines = ["blklat-replay 1", "engine bpf", f"start {self.at(intervals[0]):%Y-%m-%dT%H:%M:%S.000Z}", "by cgroup", "slow-max 5"]
        lines += [f'device {name} kind=nvme model="Micron 7450" size=1920383410176 queues=16 serial=S4X{name}' for name in DRIVES]
        lines += [f"watch {name} device" for name in DRIVES]
        for i in intervals:
            for d, name in enumerate(DRIVES):
                lines += [f"on {name} device", *self.load(i, name, 90 + (7 * i + 3 * d) % 20)]
            lines.append("tick 1")
        return write_recording("\n".join(lines), file)

    def load(self, i, name, us):
        if name != self.victim or not self.first <= i < self.first + self.n:
            return [f"io read {us}us 4096 x60 in={DATABASE}"]
        slow = f"slow write 25ms 1048576 sector={2048 * i} pid=77 comm=restic cgroup={BACKUP} in={BACKUP}"
        return [f"io read {30 * us}us 4096 x40 in={DATABASE}", f"io write {80 * us}us 1048576 x39 in={BACKUP}",
                f"io write 25ms 1048576 in={BACKUP}", slow]

    def top(self, folder, **screen):
        """A screen on which the incident stays, as the replay ends in it."""
        return Screen(BLKLAT, "top", "--replay", self.write(folder / "incident", range(self.first - 20, self.first + 40)), "--interval", 0.05, **screen)

    def at(self, i):
        return BEGIN + datetime.timedelta(seconds=i)


def said(*args):
    r = subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, timeout=60,
                       env={"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"})
    assert (r.returncode, r.stderr) == (0, "")
    return r.stdout


def test_later_from_files_alone(tmp_path):
    """The first sentence has the drive, the owner, since when and by how much; the page has it, and the chart over that time."""
    (kept := tmp_path / "kept").mkdir()
    incident = Incident()
    for half in range(0, INTERVALS // 2), range(INTERVALS // 2, INTERVALS):
        incident.write(kept / f"{incident.at(half[0]):%Y-%m-%dT%H-%M-%SZ}.blklat", half)
    window = "--from", f"{incident.at(incident.first - 90):%Y-%m-%dT%H:%M:%SZ}", "--to", f"{incident.at(INTERVALS):%Y-%m-%dT%H:%M:%SZ}"
    text = said("report", "-f", "text", kept, *window)
    first = re.search(r"^!! +(.*(?:\n   .*)*)", text, re.M)[1].replace("\n   ", " ")
    assert first.startswith(f"{incident.victim} read: ") and "nightly-backup.service began" in first, first
    document = json.loads(said("report", "-f", "json", kept, *window))["runs"][0]
    worst = document["findings"][0]
    assert (worst["kind"], worst["device"], worst["op"], worst["text"]) == ("level_change", incident.victim, "read", first)
    start = datetime.datetime.fromisoformat(document["start"])
    assert abs((start + datetime.timedelta(seconds=worst["values"]["at_s"]) - incident.at(incident.first)).total_seconds()) <= 2
    assert worst["values"]["after_p50_ns"] / worst["values"]["before_p50_ns"] == pytest.approx(30, rel=0.1)
    # No other drive is accused.
    assert not [f for f in document["findings"] if f["grade"] == "wrong" and f["device"] != incident.victim]
    said("report", "-o", tmp_path / "incident.html", kept, *window)
    page = (tmp_path / "incident.html").read_text()
    assert first in page and "nightly-backup.service" in page


@pytest.mark.parametrize("columns, heads", [
    (40, "IOPS time p99"), (60, "depth IOPS MB/s time p99"), (80, "depth IOPS MB/s time oldest p50 p99 max"),
    (200, "depth IOPS MB/s time oldest p50 p99 p99.9 max"),
])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_any_width(columns, heads, locale, tmp_path):
    """What matters most is there in any case; nothing runs into the next line, and in the C locale nothing but ASCII is shown."""
    incident = Incident()
    with incident.top(tmp_path, columns=columns, rows=26, LC_ALL=locale) as s:
        s.until(lambda text: re.search(r"^..nvme", text, re.M), "the drives")
        s.keys("c", "i")
        lines = s.until(lambda text: re.search(rf"^! {incident.victim} .*(?s:.*)^    \S*p\.service ", text, re.M), "the backup")
        assert lines[1].split("device", 1)[1].split() == heads.split()
        assert all(re.match(r"! |  |nvme|blklat|\? help", line) for line in lines if line), lines
        assert locale != "C" or "\n".join(lines).isascii()


def test_live_with_two_keys(tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("no tmux")
    incident = Incident()
    with incident.top(tmp_path, columns=100, rows=30) as s:
        s.until(lambda text: re.search(r"^..nvme", text, re.M), "the drives")
        s.keys("c")
        # The sick one is the first and selected by itself; below it stand its owners, the one that took most of its time first.
        s.until(lambda text: re.search(rf"^..{incident.victim} .*\n(?s:.*)^{incident.victim} .* slow: (?s:.*)^ +\S*backup\.service "
                                       r".* [6-9]\d % (?s:.*) postgresql\.service ", text, re.M), "the backup")
        s.keys("i")
        s.until(lambda text: re.search(r"^ .* 25\.0 ms write +1 MiB .*restic 77 .*nightly-backup\.service", text, re.M), "its slow IOs")
