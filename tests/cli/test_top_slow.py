# SPDX-License-Identifier: GPL-2.0-only
"""The latest slow IOs on the screen of top: which ones, in which order, and whose."""
import re
import shutil

import pytest

from screen import top
from script import write_recording
from waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")

ROW = re.compile(r"  (\d\d:\d\d:\d\d\.\d{3}) +(\S+ \S+) (read|write|flush|discard|other) +(- |\d+ \w+) +(\d+|-)  (.*)")


def script(folder, ticks=3, slow_max=4, each=lambda i: []):
    lines = ["blklat-replay 1", "start 2026-11-21T07:35:00.000Z", *[f"slow-max {slow_max}"] * bool(slow_max), "device sda model=Disk size=1000000000000", "device sdb", "watch sda device", "watch sdb device"]
    for i in range(ticks):
        lines += ["on sda device", "io read 100us 4096 x1000", *each(i), "on sdb device", "io read 50us 4096 x10", "tick 1"]
    return write_recording("\n".join(lines), folder / "run.blklat")


def rows(lines):
    return [m.groups() for line in lines if (m := ROW.fullmatch(line))]


def several(i):
    """Two a second, one of which fails; six in the last second, of which four are kept."""
    more = ["slow read 70ms 4096 sector=9 pid=3 comm=cp ago=800ms x5"] if i == 2 else []
    return [f"slow read {20 + i}ms 4096 sector={i} pid=77 comm=postgres cgroup=/system.slice/postgresql.service ago=300ms",
            f"slow write 5ms 131072 sector=123456789012 thread=12 comm=kworker/0:1H error=7 ago={100 + i}ms queue=1ms device=4ms depth=3 \"beside=big write\" flags=FUA/flush", *more]


@pytest.mark.parametrize("columns,rows_", [(80, 24), (200, 60)])
def test_the_last_first(tmp_path, columns, rows_):
    with top(script(tmp_path, each=several), columns=columns, rows=rows_) as s:
        s.until("END OF REPLAY")
        assert "i IOs" in s.lines()[-1]
        s.keys("i")
        lines = s.until("slow IOs, the latest first")
        assert "  slow IOs, the latest first; 11 so far, not all kept" in lines
        found = rows(lines)
        # From the third second, failed ones first, then the slowest.
        assert [(when, took, op, size) for when, took, op, size, *_ in found] == [
            ("07:35:02.898", "5.00 ms", "write", "128 KiB"), ("07:35:02.200", "70.0 ms", "read", "4 KiB"), ("07:35:02.200", "70.0 ms", "read", "4 KiB"),
            ("07:35:02.200", "70.0 ms", "read", "4 KiB"), ("07:35:01.899", "5.00 ms", "write", "128 KiB"), ("07:35:01.700", "21.0 ms", "read", "4 KiB"),
            ("07:35:00.900", "5.00 ms", "write", "128 KiB"), ("07:35:00.700", "20.0 ms", "read", "4 KiB"),
        ]
        assert found[1][4:] == ("9", "cp 3") and found[5][4] == "1" and found[5][5].startswith("postgres 77 /sys" if columns == 200 else "postgres 77 ")
        assert found[0][5].startswith("[kworker/0:1H] 12") and max(map(len, lines)) <= columns and len(lines) == rows_
        if columns == 200:
            assert found[0][5] == "[kworker/0:1H] 12, failed: medium, queue 1.00 ms, device 4.00 ms, flags FUA/flush, depth 3, beside big write"
            assert found[5][5] == "postgres 77 /system.slice/postgresql.service"
        s.keys("i")
        s.until(lambda text: "slow IOs" not in text and "all of it" in text, "the map")


def test_one_op_and_another_device(tmp_path):
    with top(script(tmp_path, each=several)) as s:
        s.until("END OF REPLAY")
        s.keys("i", "o", "o")
        assert [op for _, _, op, *_ in rows(s.until("op write"))] == ["write"] * 3
        s.keys("o", "o", "o", "o", "Down")
        assert not rows(s.until("no slow IO so far"))


def test_a_pause_holds_it(tmp_path):
    file = script(tmp_path, ticks=200, each=lambda i: [f"slow read {i + 1}ms 4096 sector={i}"])
    with top(file, interval="500ms") as s:
        s.keys("i")
        wait_until(lambda: len(rows(s.lines())) > 1, "some", s)
        s.keys("p")
        held = rows(s.until("PAUSED"))
        s.keys("Up")
        assert rows(s.until("PAUSED")) == held
        s.keys("p")
        wait_until(lambda: rows(s.lines())[:1] > held[:1], "later ones", s)


def test_very_many_in_an_interval(tmp_path):
    """The latest are shown; only a limited number is kept."""
    file = script(tmp_path, slow_max=10000, each=lambda i: [f"slow read 9ms 4096 sector={i * 1000 + k} ago={900 - k}ms" for k in range(900)])
    with top(file, rows=300) as s:
        s.until("END OF REPLAY")
        s.keys("i")
        lines = s.until(lambda text: len(rows(text.split("\n"))) == 256, "256")
    [head] = [line for line in lines if "slow IOs" in line]
    assert head == "  slow IOs, the latest first; 2 700 so far, not all kept"
    found = rows(lines)
    assert [int(sector) for *_, sector, _ in found] == list(range(2899, 2643, -1))


def test_names_are_made_harmless(tmp_path):
    with top(script(tmp_path, each=lambda i: ['slow read 9ms 4096 pid=1 comm="ä\\"<b>" cgroup="/ü x"']), columns=120, LC_ALL="C") as s:
        s.until("END OF REPLAY")
        s.keys("i")
        assert {who for *_, who in rows(s.until("slow IOs"))} == {'?"<b> 1 /? x'}


def test_not_looked_for(tmp_path):
    with top(script(tmp_path, slow_max=0)) as s:
        s.until("END OF REPLAY")
        assert "i IOs" not in s.lines()[-1]
        s.keys("i")
        s.until("slow IOs are not captured: start top with --slow=T, a time or a percentile")
        s.keys("?")
        s.until("i               the last slow IOs of the device, and back to its map")
