# SPDX-License-Identifier: GPL-2.0-only
"""blklat top on a real device, in a terminal: a load of known rate. Those that come and go are in test_devices_come.py."""
import os
import re
import shutil
import signal
import subprocess

import pytest
from groups import groups
from load import BLKLAT, Fio
from needs import need
from screen import Screen


@pytest.fixture(autouse=True)
def tmux():
    need(shutil.which("tmux"), "no tmux")


def line_of(lines, device):
    return next((line for line in lines[2:] if line[2:].startswith(device.name + " ")), "")


def settled(screen, device, condition, what):
    """The line of @device once @condition holds of it."""
    return line_of(screen.until(lambda text: condition(line_of(text.split("\n"), device)), what), device)


def test_rate_of_a_load(loop):
    """A thousand reads a second, by fio's own clock; each of 4096 bytes, so 4.1 MB/s."""
    with Screen(BLKLAT, "top", "--no-owners", "--dev", loop.name) as s:
        s.until(f"1 idle: {loop.name}")
        with Fio(loop, rw="randread", rate_iops=1000, time_based=1, runtime=3600) as f:
            figures = settled(s, loop, lambda line: re.match(r"..\S+ +\S+ +([89]\d\d(\.\d)?|1[01]\d\d) ", line), "1000 IOPS")
            # After the column of marks, which may be set: a machine that takes CPU time away makes the device slow against its past.
            iops, mb_s = map(float, figures[2:].split()[2:4])
            assert mb_s == pytest.approx(iops * 4096 / 1e6, rel=0.01)
            s.keys("o")
            assert line_of(s.until("op read"), loop)
            s.keys("c")
            s.until("IOs are not divided")
            f.end()
        s.keys("q")
        s.assert_restored()


def test_whose_without_an_option(loop):
    """A backup in a cgroup of its own begins: one key shows its name and its share of the time, another its slow IOs."""
    with groups() as g, Screen(BLKLAT, "top", "--dev", loop.name) as s:
        s.until(f"1 idle: {loop.name}")
        group = g.make("nightly-backup")
        reads = f"while dd if={loop.path} of=/dev/null bs=64k iflag=direct; do :; done"
        with subprocess.Popen(["sh", "-c", reads], stderr=subprocess.DEVNULL, start_new_session=True,
                              preexec_fn=lambda: (group / "cgroup.procs").write_text("0")) as backup:
            try:
                s.keys("c")
                s.until(lambda text: re.search(r"^ +\S*/nightly-backup .* (9\d|100) % ", text, re.M), "the backup")
                s.keys("i")
                s.until(lambda text: re.search(r"^  \d\d:\d\d:\S+ .* read +64 KiB +\d+  .*/nightly-backup", text, re.M), "its slow IOs")
            finally:
                os.killpg(backup.pid, signal.SIGKILL)
        s.keys("q")
        s.assert_restored()
