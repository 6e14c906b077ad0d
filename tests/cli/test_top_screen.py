# SPDX-License-Identifier: GPL-2.0-only
"""blklat top in a real terminal: its layout, its keys, and its end. The figures come from a script."""
import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

from command import BLKLAT, ENV
from screen import top
from script import TESTS, recorded, write_recording
from sql import change
from waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
BUSY = 30           # intervals of the script


def script(folder, ticks=BUSY, more=lambda i: ""):
    """Twelve drives. sda: 1000 reads of 100 us, 100 writes of 1 ms a second. sdb: 400 of 500 us. The others rest."""
    names = [f"sd{c}" for c in "abcdefghijkl"]
    lines = ["blklat-replay 1", "start 2026-11-21T07:35:00.000Z"]
    lines += [f'device {n} kind=disk model="Test drive" size=1000000000000' for n in names]
    lines += [f"watch {n} device" for n in names]
    for i in range(ticks):
        lines += ["on sda device", "io read 100us 4096 x1000", "io write 1ms 4096 x100"]
        lines += ["on sdb device", "io read 500us 8192 x400", more(i), "tick 1"]
    return write_recording("\n".join(lines), folder / "run.blklat")


@pytest.fixture
def steady(tmp_path):
    return script(tmp_path)


def ended(screen):
    return screen.until("END OF REPLAY")


def devices(lines):
    """The lines of devices, in their order: name and figures."""
    head = lines[1].split()
    found = {}
    for line in lines[2:]:
        if " idle:" in line or " in flight" in line:
            break
        if line.strip():
            name, *cells = re.split(r"\s+(?=[^a-z\s])|\s{2,}", line[2:].rstrip())
            found[name] = cells
    assert head[0] == "device"
    return found


@pytest.mark.parametrize("columns,rows", [(80, 24), (200, 60)])
def test_what_is_shown(steady, columns, rows):
    with top(steady, columns=columns, rows=rows) as s:
        lines = ended(s)
        # 07:35:00 and thirty intervals of a second, at whatever pace they are played.
        assert lines[0].startswith("blklat top 07:35:30  1.00 s  sort p99  op all")
        assert lines[1].split() == ["device", "depth", "IOPS", "MB/s", "oldest", "p50", "p99", "p99.9", "max"]
        # 1100 IOPS, 4.51 MB/s; 0.1 + 0.1 s in flight a second; the 1089th of 1100 is a write.
        assert lines[2].split() == "sda 0.20 1100 4.51 100 us 1.00 ms 1.00 ms 1.00 ms".split()
        assert lines[3].split() == "sdb 0.20 400 3.28 500 us 500 us 500 us 500 us".split()
        assert lines[4].split() == ["10", "idle:", *(f"sd{c}" for c in "cdefghijkl")]
        assert lines[5] == "sda device  0 in flight  Test drive"
        assert lines[6].split() == "all ops: p50 100 us p99 1.00 ms p99.9 1.00 ms max 1.00 ms".split()
        assert lines[-1].startswith("? help  q quit")
        assert max(map(len, lines)) <= columns and len(lines) == rows
        # The clock below the map: from the first interval to the last.
        assert any(line.split()[:1] == ["07:35:01"] for line in lines)


def test_busy_where_it_is_known():
    with top(recorded(TESTS / "cli/replay/depth.txt")) as s:
        lines = ended(s)
    assert lines[1].split() == "device depth busy IOPS MB/s oldest p50 p99 max".split()
    assert lines[2].split()[:4] == ["sda", "8.60", "70", "%"] and max(map(len, lines)) <= 80


def test_more_devices_than_lines(tmp_path):
    """Ten devices do IO, and 24 lines have room for seven: the heading says which ones are shown."""
    names = [f"sd{c}" for c in "abcdefghij"]
    lines = ["blklat-replay 1", *(f"device {n} kind=disk size=1000000000" for n in names), *(f"watch {n} device" for n in names)]
    lines += [word for i, n in enumerate(names) for word in (f"on {n} device", f"io read {10 - i}ms 4096 x10")] + ["tick 1"]
    file = write_recording("\n".join(lines), tmp_path / "ten.blklat")
    with top(file) as s:
        shown = ended(s)
        assert "END OF REPLAY" in shown[0]
        assert shown[1].split()[:3] == ["device", "1-7/10", "depth"] and list(devices(shown)) == names[:7]
        s.keys("End")
        shown = s.until("sdj device  ")
        assert shown[1].split()[:2] == ["device", "4-10/10"] and list(devices(shown)) == names[3:]


def rows_of_map(lines):
    """(label or None, the map's characters) of each row, from the top."""
    return [(m[1].strip(), m[2], m[3]) for line in lines if (m := re.fullmatch(r"([ \dmuns]{7})\|(.*?)\|(.*)", line))]


def test_map_without_colours(tmp_path):
    """From interval 15 on, each has one IO of 40 ms: the map shows them two decades above the rest, from the fifteenth on."""
    file = script(tmp_path, more=lambda i: "on sda device\nio read 40ms 4096" if i >= 15 else "")
    with top(file, columns=200, rows=60, NO_COLOR=1) as s:
        lines = ended(s)
        assert s.text() == re.sub(r"\x1b\[(0|7|1|39|49|;)*m|\x1b\([B0]|[\x0e\x0f]", "", s.text("-e"))
    rows = rows_of_map(lines)
    busy = [(label, cells) for label, cells, _ in rows if cells.strip()]
    by_pattern = {}
    for label, cells in busy:
        by_pattern.setdefault(cells.rstrip(), []).append(label)
    # 120 columns for 240 intervals: two intervals each.
    slow, fast = min(by_pattern, key=lambda p: len(p.strip())), max(by_pattern, key=lambda p: p.count("@"))
    assert len(fast) == 15 and set(fast) == {"@"}
    assert (len(slow) - len(slow.lstrip()), len(slow)) == (7, 15)
    # They are few: one or two of 2000.
    assert set(slow.strip()) <= set(".:")
    # Their row is above 10 ms and below 100 ms; the many are around 100 us.
    labels = [label for label, _, _ in rows]
    place = next(i for i, (_, cells, _) in enumerate(rows) if cells.rstrip() == slow)
    many = next(i for i, (_, cells, _) in enumerate(rows) if cells.rstrip() == fast)
    assert place <= labels.index("10 ms") < labels.index("1 ms") < many


def test_few_fast_ones_cost_no_detail(tmp_path):
    """One IO of 1 us among 1010: with it the map would span four and a half decades, without it two, on the same number of lines."""
    file = write_recording("blklat-replay 1\ndevice sda\nwatch sda device\n" +
                           "io read 1us 4096\nio read 300us 4096 x999\nio read 30ms 4096 x10\ntick 1\n" * 3, tmp_path / "run.blklat")
    with top(file, NO_COLOR=1) as s:
        rows = rows_of_map(ended(s))
    assert [label for label, _, _ in rows if label] == ["10 ms", "1 ms", "100 us"]
    used = [i for i, (_, cells, _) in enumerate(rows) if cells.strip()]
    # 30 ms is the highest; 2 decades or 12 steps below it 300 us; the lowest line has the fast ones.
    assert used == [0, 12, len(rows) - 1]


@pytest.mark.parametrize("term,colours", [("tmux-256color", r"48;5;\d+m"), ("screen", r"4[1345]m"), ("linux", r"4[1345]m")])
def test_map_in_colours(steady, term, colours):
    with top(steady, TERM=term) as s:
        ended(s)
        assert len(re.findall(colours, s.text("-e"))) > 1
        assert not any(set(cells.strip()) for _, cells, _ in rows_of_map(s.lines()))


def test_keys(steady):
    """Each gets to where tests/unit/test_top.c has what it does; letters of a filter are no keys."""
    with top(steady) as s:
        ended(s)

        def press(key, expect):
            s.keys(key)
            return s.until(expect)

        for order in "oldest", "depth", "IOPS", "MB/s", "name", "p99":
            press("s", f"sort {order}")
        assert "all ops: p50 500 us" in "\n".join(press("Down", "sdb device  "))
        for key, device in ("Up", "sda"), ("End", "sdb"), ("Home", "sda"):
            press(key, f"{device} device  ")
        lines = press("o", "op read")
        assert [line.split()[:4:2] for line in lines[2:4]] == [["sdb", "400"], ["sda", "1000"]]
        for name in "write", "flush", "discard", "other", "all":
            press("o", f"op {name}")
        assert "…" not in "".join(press("?", "blklat top: keys"))
        assert "sort p99" in press("s", "10 idle:")[0]
        for key, shown in ("/", "_"), ("q", "q_"), ("BSpace", "_"):
            press(key, f"filter: {shown}")
        lines = press("B", "filter: B_")
        assert list(devices(lines)) == ["sdb"] and " idle:" not in "\n".join(lines)
        press("Enter", lambda text: "filter B" in text.split("\n")[0])
        press("Escape", "10 idle:")
        s.keys("q")
        s.assert_restored()


def test_resize(steady):
    with top(steady, columns=80, rows=24) as s:
        ended(s)
        s.resize(200, 60)
        lines = s.until(lambda text: len(text.split("\n")) == 60 and text.split("\n")[-1].startswith("? help"))
        assert [line.split()[0] for line in lines[2:4]] == ["sda", "sdb"]
        s.resize(40, 10)
        s.until("too small: 40x10, needs 40x16")
        s.resize(60, 16)
        lines = s.until("sda device")
        assert max(map(len, lines)) <= 60
        s.resize(80, 24)
        lines = s.until(lambda text: text.split("\n")[-1].startswith("? help") and len(text.split("\n")) == 24)
        assert lines[4].split()[:2] == ["10", "idle:"]
        s.keys("q")
        s.assert_restored()


def test_what_is_wrong(tmp_path):
    """From interval 12 on sdb takes 8 ms instead of 0.5; two IOs of sdc hang; sda lost five."""
    def more(i):
        lines = ["io read 8ms 8192 x4000"] if i >= 12 else []
        lines += ["on sdc device", f"in-flight 2 oldest={i - 8}s"] if i > 8 else []
        lines += ["on sda device", "account no_start 5"] if i == 3 else []
        return "\n".join(lines)

    with top(script(tmp_path, ticks=16, more=more), columns=165) as s:
        lines = ended(s)
        assert "lost 5" in lines[0]
        assert lines[2].startswith("! sdc ") and "7.00 s" in lines[2]
        # They hang in the last seven of 16 intervals, which began at 0.
        assert re.search(r"stalled: no completions, an IO has waited 7.00 s, since \d\d:\d\d:09 \(7 s\)$", lines[2])
        assert lines[3].startswith("! sdb ")
        # Still 16 times in the last of four intervals: those are no past.
        assert re.search(r"slow: p99 is 16(.0)? times its past, since \d\d:\d\d:12 \(4 s\)$", lines[3])
        assert lines[4].startswith("~ sda ")
        s.keys("Down", "a")
        assert s.until("acknowledged")[3].startswith("  sdb ")
        s.keys("End")
        assert s.until("5 IOs lost")


@pytest.mark.parametrize("last, said", [("io read 4ms 4096 x100", "all slower: the host?"), ("in-flight 1 oldest=3s", "all waiting: the host?")])
def test_what_all_have_is_said_once(tmp_path, last, said):
    """sda, sdb and sdc take 4 ms instead of a half, or their IOs hang: none of them is marked."""
    lines = ["blklat-replay 1", *(f"device sd{d} kind=disk size=1048576 queues=1 tags=32" for d in "abc"),
             *(f"watch sd{d} device" for d in "abc")]
    for i in range(14):
        lines += [word for d in "abc" for word in (f"on sd{d} device", last if i > 11 else "io read 500us 4096 x100")] + ["tick 0.05"]
    path = write_recording("\n".join(lines), tmp_path / "together.blklat")
    with top(path, columns=130) as s:
        shown = ended(s)
        assert said in shown[0]
        assert [line[:1] for line in shown[2:5]] == [" "] * 3 and not any("slow" in line or "wait" in line for line in shown[2:5])


@pytest.mark.parametrize("how", ["q", "C-c", signal.SIGTERM, signal.SIGHUP], ids=str)
def test_terminal_is_restored(steady, how):
    with top(steady) as s:
        s.until("sda device")
        assert s.told("alternate_on") == "1"
        s.keys(how) if isinstance(how, str) else s.signal(how)
        s.assert_restored()
        assert "sda" not in s.text().replace("sda1", "")


def in_a_write(pid):
    """Does it sleep in n_tty_write()?"""
    with open(f"/proc/{pid}/wchan") as f:
        return f.read() in ("wait_woken", "n_tty_write")


def test_terminal_is_restored_when_nobody_reads(steady):
    """A write to the terminal never returns, as in a hanging ssh session; the program ends in order all the same."""
    reader, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    with subprocess.Popen([BLKLAT, "top", "--replay", steady, "--interval", "50ms"], stdout=terminal, stderr=subprocess.PIPE,
                          env=ENV | {"TERM": "xterm"}, text=True) as p, contextlib.ExitStack() as stack:
        stack.callback(p.kill)  # else one that does not end would be waited for
        wait_until(lambda: termios.tcgetattr(terminal) != before, "the terminal to be taken")
        # Each new size makes it redraw the whole screen, some kilobytes. What the kernel still passes on makes room.
        stood, end = 0, time.monotonic() + 60
        while stood < 3:
            assert time.monotonic() < end, "the program does not get stuck in a write"
            for columns in range(100, 150):
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
                p.send_signal(signal.SIGWINCH)
                time.sleep(0.01)
            stood = stood + 1 if in_a_write(p.pid) else 0
        p.send_signal(signal.SIGTERM)
        assert p.wait(timeout=30) == 0
        assert p.stderr.read() == ""
    assert termios.tcgetattr(terminal) == before
    os.close(terminal)
    os.close(reader)


def test_terminal_is_restored_after_an_error(tmp_path):
    """A recording that breaks off in the middle: the reason is on the restored terminal."""
    file = script(tmp_path)
    change(file, "update series set bins = x'ffffff' where rowid = (select max(rowid) - 20 from series)")
    with top(file) as s:
        lines = s.assert_restored(status=1)
        assert any(line.startswith("blklat top: ") for line in lines)


def test_messages_are_kept_for_the_end(tmp_path):
    """A device that goes away is reported in the last line, and again on the restored terminal."""
    def more(i):
        return "on sdl device\ngone" if i == 5 else ""
    with top(script(tmp_path, more=more)) as s:
        assert ended(s)[-1] == "blklat: sdl went away"
        s.keys("q")
        assert "blklat: sdl went away" in s.assert_restored()


def test_names_are_harmless(tmp_path):
    """A drive may have any name, and a recording may come from anybody."""
    file = script(tmp_path)
    change(file, "update device set name = 'a' || char(27) || '[31m' || char(7) || 'b' where name = 'sda'",
           "update device set model = 'x' || char(27) || ']0;title' || char(7) || 'y'")
    with top(file) as s:
        lines = ended(s)
        assert lines[2].startswith("  a?[31m?b ")
        assert "a?[31m?b device  0 in flight  x?]0;title?y" in lines[5]
        assert s.told("pane_title") != "title"


@pytest.mark.parametrize("term", ["dumb", "nonsense", ""])
def test_terminals_that_cannot(steady, term):
    with top(steady, TERM=term) as s:
        lines = s.assert_restored(status=2)
        assert re.match(rf"blklat top: a terminal of type '{term}' can't be drawn on: set TERM, or use 'blklat live'", "".join(lines))


def test_without_a_terminal(steady):
    r = subprocess.run([BLKLAT, "top", "--replay", steady], capture_output=True, env=ENV, text=True, timeout=10)
    assert (r.returncode, r.stdout) == (2, "")
    assert r.stderr == "blklat top: standard output is not a terminal: 'blklat live' writes text, 'blklat live --format json' " \
                       "figures for programs\n"


def test_what_comes_from_a_pipe(steady):
    """Keys are read from the terminal, whatever standard input is."""
    with top("/dev/stdin", more=f" <{steady}") as s:
        ended(s)
        s.keys("q")
        s.assert_restored()


def test_as_many_parts_as_there_are(tmp_path):
    depths = ["1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129-256", "257-512", "513+"]
    lines = ["blklat-replay 1", "by depth", "device sda", "watch sda device"]
    lines += [*(f"io read 1ms 4096 x{n + 1} in={depth}" for n, depth in enumerate(depths)), "tick 1"] * 3
    file = write_recording("\n".join(lines), tmp_path / "run.blklat")
    with top(file, rows=40) as s:
        found = [line.split()[1:3] for line in ended(s) if line.startswith("    depth ")]
        assert [(d, float(ios)) for d, ios in found] == [(d, n + 1) for n, d in enumerate(depths)]


POD = "8c9c8f5e-7d3c-4c6b-9a54-0f4b1f1f2a3c"
# A cgroup, and what is shown of it at 80 columns, at 100 and at 200.
CGROUPS = [
    ("none", *3 * ["cgroup none"]), ("/a/plain", *3 * ["/a/plain"]),
    ("/system.slice/cron-of-root.service", *2 * ["cron-of-root.service"], "/system.slice/cron-of-root.service"),
    (f"/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-3f2a9d5b7c1e{52 * 'a'}.scope", *2 * ["3f2a9d5b7c1e"], f"container 3f2a9d5b7c1e of pod {POD}"),
    ("/system.slice/wait-online@eth0.service", "...-online@eth0.service", "wait-online@eth0.service", "/system.slice/wait-online@eth0.service"),
]


@pytest.mark.parametrize("width,columns", enumerate([80, 100, 200]))
def test_cgroups_by_what_their_paths_tell(tmp_path, width, columns):
    """The whole path where there is room, else its end. Their figures are below those of the device, who took most of its time first."""
    lines = ["blklat-replay 1", "by cgroup", "device sda", "watch sda device"]
    lines += [*(f"io read 1ms 4096 x{n + 1} in={path}" for n, (path, *_) in enumerate(CGROUPS)), "tick 1"] * 3
    file = write_recording("\n".join(lines), tmp_path / "run.blklat")
    with top(file, rows=40, columns=columns) as s:
        lines = ended(s)
        s.keys("c")
        whose = s.until(lambda text: "|" not in text, "no map")
    end = lines[1].index("IOPS") + len("IOPS")
    found = [line[:end].rsplit(maxsplit=1) for line in lines if line.startswith("    ") and "1.00 ms" in line[end:]]
    assert [(label.strip(), float(ios)) for label, ios in found] == [(label[width], n + 1) for n, (_, *label) in enumerate(CGROUPS)][::-1]
    assert lines[2][:end].split()[-1] == "15.0"
    # Fifteen IOs of 1 ms; the column is as wide as '100 %' and a blank.
    end = lines[1].index(" time") + len(" time")
    assert [line[end - 6:end].strip() for line in [lines[2], *lines[5:10]]] == ["100 %", "33 %", "27 %", "20 %", "13 %", "7 %"]
    assert whose[5:10] == lines[5:10] and "c whose" in whose[-1]


def test_processes_are_no_paths(tmp_path):
    """At 80 columns a name is there as a whole, whatever is in it, and as much of its id as there is room for."""
    names = "kworker", "/a.service/b (12)", "a long name (1) (1234567)", "rest"
    lines = ["blklat-replay 1", "by process", "device sda", "watch sda device"]
    lines += [*(f'io read 1ms 4096 x{n + 1} "in={name}"' for n, name in enumerate(names)), "tick 1"] * 3
    file = write_recording("\n".join(lines), tmp_path / "run.blklat")
    with top(file, rows=40) as s:
        lines = ended(s)
    end = lines[1].index("IOPS") + len("IOPS")
    found = [line[:end].rsplit(maxsplit=1)[0].strip() for line in lines if line.startswith("    ") and "1.00 ms" in line[end:]]
    assert found == ["process rest", "a long name (1) (12345…", "/a.service/b (12)", "process kworker"]


def test_stages(tmp_path):
    """Each device has a line, at the chosen stage or at the one that it has; the same device stays selected."""
    lines = ["blklat-replay 1", "device sda", "device sdb", "watch sda device", "watch sdb device", "watch sda total"]
    lines += ["on sda device", "io read 1ms 4096 x10", "on sda total", "io read 5ms 4096 x10", "on sdb device", "io read 2ms 4096 x10", "tick 1"]
    file = write_recording("\n".join(lines), tmp_path / "run.blklat")
    with top(file) as s:
        text = ended(s)
        assert "stage device" in text[0]
        assert [line.split()[:2] for line in text[2:4]] == [["sdb", "device"], ["sda", "device"]]
        s.keys("Down")
        s.until("sda device  ")
        s.keys("S")
        text = s.until("stage total")
        assert [line.split()[:2] for line in text[2:4]] == [["sda", "total"], ["sdb", "device"]]
        assert "sda total  " in "\n".join(text[4:])
        s.keys("S")
        s.until("stage device")


def test_where_the_time_goes():
    """Of one op, and of all: 400 reads of 500, 5, 20 and 100 us, and 400 writes of 15, 45, 40 and 200 us."""
    with top(recorded(TESTS / "cli/replay/wait.txt"), columns=140) as s:
        text = ended(s)
        assert "  total: wait 55.7 %, plug 5.4 %, queue 6.5 %, device 32.4 % of this time, about, as 800 bios were 500 requests; the scheduler has 4 tags" in "\n".join(text)
        s.keys("o")
        assert "  total: wait 80.0 %, plug 0.8 %, queue 3.2 %, device 16.0 % of this time; the scheduler has 4 tags" in s.until("op read")
