# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by process: of two fios at once each has its own part, with as many IOs as it was asked for."""
import shutil
import subprocess

from load import Blklat, assert_all_counted, exact, fio_argv
from parts import labels_of, parts_of
from waiting import DEADLINE_S


@exact
def test_who_sends_them(loop, tmp_path):
    """Threads count for their process. Flushes are sent by whoever syncs, and issued by a worker of the kernel."""
    jobs = {}
    with Blklat(loop, stage="device,total", args=["--by", "process"]) as b:
        for name, options in {"a reader (1)": {"rw": "randread", "numjobs": 2, "number_ios": 150},
                              "writer": {"rw": "randwrite", "number_ios": 200, "fsync": 4}}.items():
            (tmp_path / name).symlink_to(shutil.which("fio"))
            jobs[name] = subprocess.Popen([tmp_path / name, *fio_argv(loop, **options)[1:]], stdout=subprocess.DEVNULL)
        assert [job.wait(DEADLINE_S) for job in jobs.values()] == [0, 0]
        b.next(loop, n=2)
    reader, writer = (f"{name} ({job.pid})" for name, job in jobs.items())
    for stage in "device", "total":
        assert_all_counted(b, loop, stage)
    flushes = b.total("ios", "flush", loop, "total")
    assert flushes >= 49
    assert parts_of(b, labels_of(b), loop, "total") == {reader: {"read": 300}, writer: {"write": 200, "flush": flushes}}
    assert parts_of(b, labels_of(b), loop, "device") == {reader: {"read": 300}, writer: {"write": 200}, "kworker": {"flush": flushes}}
