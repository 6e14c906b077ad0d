# SPDX-License-Identifier: GPL-2.0-only
"""Text output of many devices, from scripts: those at rest share a line, the sick one is marked, and with --top only the worst are shown."""
import json
import re
import shutil

import pytest

from command import BLKLAT, bad, run
from screen import Screen
from script import write_recording


def write(path, n, *ticks):
    """@n drives; for each tick {number: statements}. Drives that are not named are at rest."""
    lines = ["blklat-replay 1"]
    lines += [f"device d{i} kind=disk size=1048576 queues=1 tags=128" for i in range(n)]
    lines += [f"watch d{i} device" for i in range(n)]
    for tick in ticks:
        for number, what in tick.items():
            lines += [f"on d{number} device", *what]
        lines.append("tick 1")
    return write_recording("\n".join(lines), path)


def text(*args):
    done = run("live", "--replay", *args)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def blocks(shown):
    """The intervals, and the figures of the summary."""
    parts = shown.split("\n\n")
    return [p for p in parts if re.match(r"\d\d:\d\d:\d\d", p)], next(p for p in parts if p.startswith("summary"))


def named(block):
    return re.findall(r"^(d\d+) ", block, re.M)


def test_devices_at_rest_share_a_line(tmp_path):
    """Each device with anything to report has its own line: IOs, some in flight, a loss, its end."""
    happenings = ({3: ["io read 96us 4096 x10"]}, {4: ["in-flight 1 oldest=2s"]}, {5: ["account tag_range 1"]}, {}, {6: ["gone"]})
    shown = blocks(run("live", "--replay", write(tmp_path / "run.blklat", 9, *happenings)).stdout.decode())[0]
    assert [re.findall("^idle .*", block, re.M) for block in shown] == [
        [f"idle    {rest} of 9 devices: no IO completed, none in flight (--format csv has each)"] for rest in (8, 8, 7, 8, 7)]
    assert [set(named(block)) for block in shown] == [{"d3"}, {"d4"}, {"d4", "d5"}, {"d4"}, {"d4", "d6"}]


def test_few_devices_have_a_line_each(tmp_path):
    shown = text(write(tmp_path / "run.blklat", 8, {3: ["io read 96us 4096"]}))
    assert "\nidle " not in shown and all(f"\nd{n}      no IO completed\n" in shown for n in range(8) if n != 3)


@pytest.mark.parametrize("n,listed", [(32, True), (33, False)])
def test_header_of_many_devices(tmp_path, n, listed):
    head = text(write(tmp_path / "run.blklat", n, {})).split("\n\n")[0]
    assert (head.count("disk, 1.05 MB") == n) == listed
    assert ("devices  33, from d0 on ('blklat list' shows them)" in head) != listed


def ios(i, n=100):
    """@n reads of @i ms a second: the higher a device's number, the worse."""
    return [f"io read {i}ms 4096 x{n}"]


# Five with IOs, d4 the worst of them by p99; d6 hangs for longer than any of these; seven rest.
BUSY = {**{i: ios(i + 1) for i in range(5)}, 6: ["in-flight 2 oldest=30s"]}


@pytest.mark.parametrize("n,shown", [(1, {6}), (3, {6, 4, 3}), (6, {6, 4, 3, 2, 1, 0}), (100, {6, 4, 3, 2, 1, 0})])
def test_only_the_worst(tmp_path, n, shown):
    script = write(tmp_path / "run.blklat", 13, BUSY)
    (interval, *_), summary = blocks(text(script, "--top", str(n)))
    left = sorted(set(range(5)) - shown)
    for block in interval, summary:
        assert set(named(block)) == {f"d{i}" for i in shown}
        rest = re.findall(r"^rest +(.*(?:\n {8}.*)?)", block, re.M)
        if left:
            # 100 IOPS of 4096 bytes each, and the p99 of the worst of them.
            s = "s" if len(left) > 1 else ""
            assert [" ".join(r.split()) for r in rest] == [
                f"{len(left)} more device{s} left out by --top: {100 * len(left)} IOPS, {0.4096 * len(left):.2f} MB/s, "
                f"0 in flight, p99 at most {max(left) + 1}.00 ms"]
        else:
            assert rest == []
        assert "idle    7 of 13 devices" in block


def test_no_loss_is_left_out(tmp_path):
    """Nor does it take more than eight devices to leave some out."""
    script = write(tmp_path / "run.blklat", 3, {0: [*ios(1), "account no_start 3"], 1: ios(2), 2: ios(3)}, {1: ios(2), 2: ios(3)})
    shown = text(script, "--top", "1")
    intervals, _ = blocks(shown)
    assert "3 IOs lost" in intervals[0] and "lost" not in intervals[1]
    # Its account is in the summary.
    assert re.search(r"^d0 +started", shown, re.M) and not re.search(r"^d1 +started", shown, re.M)


def marks(script, *args):
    return [re.findall(r"^(d\d+) +! (.*?)[;:,]", block, re.M) for block in blocks(text(script, *args))[0]]


# d1 is 8 times as slow in the twelfth interval; d2 has an IO that waits for 3 s there, d3 two that failed, d4 hangs.
CALM = {i: ios(1) for i in range(5)}
SICK = {0: ios(4), 1: ios(8), 2: [*ios(1), "in-flight 1 oldest=3s"], 3: ["io read 1ms 4096 x100 errors=2"], 4: ["in-flight 1 oldest=2s"]}
TICKS = [CALM] * 11 + [SICK]


@pytest.mark.parametrize("n,args,marked", [(9, [], True), (8, [], False), (5, ["--top", "9"], True)])
def test_sick_ones_are_marked(tmp_path, n, args, marked):
    *calm, sick = marks(write(tmp_path / "run.blklat", n, *TICKS), *args)
    assert not any(calm)
    assert dict(sick) == ({"d1": "slow", "d2": "an IO has waited 3.00 s", "d3": "2 IOs failed", "d4": "stalled"} if marked else {})


@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
@pytest.mark.parametrize("env,red", [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)], ids=str)
def test_marks_are_red_where_colours_are(tmp_path, env, red):
    script = write(tmp_path / "run.blklat", 9, *TICKS)
    with Screen(BLKLAT, "live", "--replay", script, rows=1000, **env) as s:
        s.until("ended with 0")
        marked = [line for line in s.lines("-e") if "! " in line]
    assert len(marked) == 4
    assert all(bool(re.search(r"\x1b\[[\d;]*31m", line)) == red for line in marked)


def test_programs_get_the_same(tmp_path):
    """Other formats have no --top: their readers choose by themselves."""
    script = write(tmp_path / "run.blklat", 13, BUSY)
    lines = run("live", "--replay", script, "--format", "json").stdout.splitlines()
    assert len({json.loads(line)["device"] for line in lines}) == 13
    for form in "json", "csv":
        bad(f"--top is for text: --format {form} always has every device", "live", "--replay", script, "--top", "3", "--format", form)


ALIKE = {i: ios(0.5) for i in range(12)}


@pytest.mark.parametrize("last,said,marked", [
    (ALIKE | {i: ios(4) for i in range(9)}, "9 of 12 devices slower together, p99 by 8 times: the host?", []),
    # One well, ten for 3 s, and one for a minute, which alone is marked. The mean is 3 * 20^(1/11), 3.94.
    (ALIKE | {i: ["in-flight 1 oldest=3s"] for i in range(10)} | {10: ios(0.5) + ["in-flight 1 oldest=60s"]},
     "10 of 12 devices waiting, an IO of each for about 3.94 s: the host?", [("d10", "an IO has waited 60.0 s")]),
])
def test_what_all_have_is_said_once(tmp_path, last, said, marked):
    script = write(tmp_path / "run.blklat", 12, *[ALIKE] * 11, last)
    *before, block = blocks(text(script))[0]
    assert not any(re.search("^all |! ", b, re.M) for b in before)
    assert re.findall("^all +(.*)$", block, re.M) == [said]
    assert re.findall(r"^(d\d+) +! (.*?)[;:]", block, re.M) == marked


def test_those_left_out_wait(tmp_path):
    """Nothing ends, so there is no p99; the age of the oldest IO among the devices left out is shown."""
    script = write(tmp_path / "run.blklat", 4, {i: [f"in-flight 2 oldest={i + 2}s"] for i in range(4)})
    interval = " ".join(blocks(text(script, "--top", "1"))[0][0].split())
    assert " rest 3 more devices left out by --top: 0 IOPS, 0 MB/s, 6 in flight, oldest 4.00 s " in f"{interval} "
