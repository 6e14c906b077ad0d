# SPDX-License-Identifier: GPL-2.0-only
"""
An incident as it comes: eight drives with a database on each, and a backup that begins on one of them at a time that is drawn by
lot. Two keys show whose it is while it goes on, and two commands afterwards, from files alone. (tests/cli/test_incident.py has an
incident that is known to the IO.)
"""
import datetime
import json
import random
import re
import subprocess
import time

import pytest
from cgroups import enter, hierarchy
from guest import null_blk
from load import BLKLAT, fio_argv
from screen import Screen
from service import Serve

pytestmark = pytest.mark.before_release
# Four tags: what the backup takes of them, the database waits for.
DRIVE = {"irqmode": 2, "completion_nsec": 100000000, "submit_queues": 1, "hw_queue_depth": 4}
DATABASE, BACKUP = "postgresql.service", "nightly-backup.service"


def load(group, *devices, **options):
    jobs = [arg for d in devices for arg in (f"--name={d.name}", f"--filename={d.path}")]
    argv = [a for a in fio_argv(devices[0], ioengine="libaio", time_based=1, runtime=3600, **options) if not a.startswith(("--name", "--filename"))]
    return subprocess.Popen(argv + jobs, stdout=subprocess.DEVNULL, preexec_fn=enter(group))


def end(process):
    process.terminate()
    process.wait()


def intervals(s, n):
    """Waits for so many more."""
    with s.stream() as stream:
        stream.intervals(n)


def said(*args):
    r = subprocess.run([BLKLAT, *map(str, args)], capture_output=True, text=True, check=True, timeout=300)
    return r.stdout


def test_a_backup_among_databases(tmp_path):
    with hierarchy() as make, null_blk(nr_devices=8, **DRIVE) as drives, \
            Serve("--dev", "nullb*", "--stage", "total", "--by", "cgroup", "--max-parts", "8", "--record", tmp_path) as s:
        database, victim = load(make(DATABASE), *drives, rate_iops=4), random.choice(drives)
        try:
            intervals(s, random.randrange(25, 40))
            began = time.time()
            backup = load(make(BACKUP), victim, rw="read", bs="256k", iodepth=16)
            try:
                with Screen(BLKLAT, "top", "--dev", "nullb*", "--stage", "total", columns=100, rows=30) as top:
                    top.until(lambda text: re.search(r"^..nullb", text, re.M), "the drives")
                    top.keys("c")
                    top.until(lambda text: re.search(rf"^..{victim.name} (?s:.*)^ +\S*backup\.service .* [5-9]\d % (?s:.*)\S*{DATABASE} ", text, re.M), "the backup")
                    top.keys("i")
                    top.until(lambda text: re.search(rf"read +256 KiB .*{BACKUP}", text), "its slow IOs")
                intervals(s, 20)
            finally:
                end(backup)
            intervals(s, 5)
        finally:
            end(database)
    window = "--from", f"{datetime.datetime.fromtimestamp(began - 20, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    text = said("report", "-f", "text", tmp_path, *window)
    first = re.search(r"^!! +(.*(?:\n   .*)*)", text, re.M)[1].replace("\n   ", " ")
    assert first.startswith(f"{victim.name} read: ") and f"{BACKUP} began" in first, text
    run = json.loads(said("report", "-f", "json", tmp_path, *window))["runs"][0]
    at = datetime.datetime.fromisoformat(run["start"]).timestamp() + run["findings"][0]["values"]["at_s"]
    # fio takes its time to start.
    assert began - 1 < at < began + 15
    assert not [f for f in run["findings"] if f["grade"] == "wrong" and f["device"] != victim.name]
