# SPDX-License-Identifier: GPL-2.0-only
"""What the text says of an interval and of the run, whole blocks to the byte; names and rare figures in the formats for programs."""
import csv
import io
import json

import pytest
from command import run
from script import write_recording
from sql import change

HEAD = """blklat-replay 1
start 2026-11-21T07:35:00.000Z
device loop0 kind=loop scheduler=none size=1073741824 serial=S4X
watch loop0 device
"""
SEVEN = "io read 60us 4096 x7\ntick 1\n"


def said(tmp_path, script, *sql, status=0):
    """The header, each interval, and the summary."""
    file = change(write_recording(script, tmp_path / "run.blklat"), *sql)
    done = run("live", "--replay", file, before=["env", "TZ=UTC"])
    assert done.returncode == status, done.stderr
    head, *intervals = done.stdout.decode().partition("\n\nsummary of ")[0].split("\n\n")
    return head, intervals, done.stdout.decode().partition("\n\nsummary of ")[2]


@pytest.mark.parametrize("what, seconds, text", [
    ("", 1, "loop0   no IO completed"),
    ("in-flight 3 oldest=3.2s\nkernel-ios unknown", 1, "loop0   stalled: 3 in flight, oldest 3.20 s"),
    # The kernel has counted 2 ends that were not seen, or all 3.
    ("in-flight 3 oldest=3.2s\nkernel-ios +2", 1, "loop0   stalled: 3 in flight, oldest 3.20 s"),
    ("in-flight 3 oldest=3.2s\nkernel-ios +3", 1, "loop0   no IO completed, 3 in flight, oldest 3.20 s; completed, says the kernel"),
    # Young IOs are on their way, not stuck.
    ("in-flight 3 oldest=200us", 1, "loop0   no IO completed, 3 in flight, oldest 200 us"),
    ("", 1.049, "loop0   no IO completed"), ("", 1.32, "        this interval took 1.32 s\nloop0   no IO completed"),
    ("", 0.4, "        this interval took 400 ms\nloop0   no IO completed")])
def test_idle_stalled_and_late(tmp_path, what, seconds, text):
    head, (_, second), _ = said(tmp_path, f"{HEAD}{SEVEN}{what}\ntick {seconds}")
    assert head.split("\n")[1:] == ["loop0   loop, 1.07 GB, scheduler none, S/N S4X", "stage   device (issue to completion)"]
    assert second.split("\n", 1)[1] == text
    if text.endswith("kernel"):     # which may count IOs that were not seen at all: one that hangs is in flight there, too
        _, (_, second), _ = said(tmp_path, f"{HEAD}{SEVEN}{what}\ntick 1", "UPDATE state SET kernel_in_flight = 1 WHERE interval = 2")
        assert "loop0   stalled: 3 in flight" in second


def test_a_loss_is_told_once(tmp_path):
    """Accounts are cumulative, but the warning is about the interval."""
    _, intervals, summary = said(tmp_path, f"{HEAD}account no_start 5\nstarts +8\n{SEVEN}tick 1\naccount no_start 1\n{SEVEN}")
    assert ["lost" in i for i in intervals] == [True, False, True]
    assert "\n        warning: 13 IOs lost: 5 whose start was not seen, 8 unexplained\n" in intervals[0]
    assert "\n        warning: 1 IO lost: 1 whose start was not seen\n" in intervals[2] and "warning: 14 IOs lost:" in summary


@pytest.mark.parametrize("more, why", [("", "nothing was missed at stage device:"), ("kernel-ios +1", "IOs of any device may be missing")])
def test_skipped_runs_are_told_once(tmp_path, more, why):
    """They are of the whole run, so neither per watch nor per interval; and the summary has the last word."""
    _, intervals, summary = said(tmp_path, f"{HEAD}{more}\n{SEVEN}skipped 3\n{SEVEN}skipped 1\n{SEVEN}")
    assert ["skipped" in i for i in intervals] == [False, True, False]
    assert f"\nskipped  the kernel skipped 3 program runs; {why}" in intervals[1]
    assert f"\nskipped  the kernel skipped 4 program runs; {why}" in summary


def test_devices_that_come_and_go(tmp_path):
    """They have lines of their own as long as they are there, and keep their own accounts."""
    _, intervals, _ = said(tmp_path, HEAD + "device loop1\nwatch loop1 total later\non loop0 device\naccount tag_range 2\ntick 1\non loop1 total\ncome\n"
                           "account tag_range 4\ntick 1\non loop0 device\ngone\ntick 1\ntick 1")
    lost = [[line.strip() for line in i.split("\n") if "lost" in line] for i in intervals]
    assert [len(of) for of in lost] == [1, 1, 0, 0] and "warning: 2 IOs lost" in lost[0][0] and "warning: 4 IOs lost" in lost[1][0]
    assert [[line.partition("  ")[0] for line in i.split("\n") if " no IO" in line] for i in intervals] == [
        ["loop0 device"], ["loop0 device", "loop1 total"], ["loop0 device", "loop1 total"], ["loop1 total"]]


def test_beyond_the_grid(tmp_path):
    """The axis spans eleven decades, and the outermost bins have one bound each. Nothing else counts such IOs."""
    _, (interval,), summary = said(tmp_path, HEAD + "kernel-ios unknown\nio other 12ns 4096\nio other 130s 4096\ntick 1")
    assert interval.endswith("\n        ╵10ns ╵100ns╵1us  ╵10us ╵100us╵1ms  ╵10ms ╵100ms╵1s   ╵10s  ╵100s")
    assert ("\n   0 ns -   14 ns ████████████████████████████████████   1  50.0000 %  50.0000 %\n              ...\n"
            "  128 s -    more ████████████████████████████████████   1  50.0000 % 100.0000 %\n") in summary
    assert "\n        the kernel has no count of these\n" in summary


def test_a_device_goes_after_a_pause(tmp_path):
    script = HEAD + "idle-gap 100ms\nio read 61us 4096 after-idle\nio read 2ms 4096 after-idle\nin-flight 32 oldest=81.2us\ngone\ntick 1"
    _, (interval,), summary = said(tmp_path, script, status=1)
    assert "loop0   queue depth <0.01, 32 in flight, oldest 81.2 us; the device went away\n" in interval
    assert "loop0   queue depth <0.01; the device went away\n" in summary
    assert "\n        2 after an idle gap of 100 ms or more: mean 1.03 ms, median 61.0 us\n" in summary


@pytest.mark.parametrize("more, note", [(0, None), (12, "12 IOs more"), (-1, "1 IO fewer")])
def test_the_kernel_disagrees(tmp_path, more, note):
    summary = said(tmp_path, f"{HEAD}kernel-ios {more:+}\n{SEVEN}")[2]
    assert f"note: the kernel counted {note} than blklat\n" in summary if note else "note:" not in summary


def answers(tmp_path, script, *sql):
    file = change(write_recording(script, tmp_path / "run.blklat"), *sql)
    lines, rows = (run("live", "--replay", file, "--format", form, "--bins").stdout.decode() for form in ("json", "csv"))
    return [json.loads(line) for line in lines.splitlines()], list(csv.DictReader(io.StringIO(rows, newline="")))


def test_any_name_stays_in_its_field(tmp_path):
    for name, shown in {"dm-0": "dm-0", "a,b": "a,b", 'a"b': 'a"b', "a\nb": "a?b", "a b": "a b", "a\\c/\xff": "a\\c/?"}.items():
        (line,), rows = answers(tmp_path, HEAD + SEVEN, f"UPDATE device SET name = CAST(x'{name.encode('latin-1').hex()}' AS TEXT)")
        assert line["device"] == shown == rows[0]["device"]


def test_ios_after_a_pause(tmp_path):
    """Only if they are looked for, and then even if there are none."""
    (none, two), _ = answers(tmp_path, f"{HEAD}idle-gap 100ms\n{SEVEN}io read 61us 4096 after-idle\nio read 2ms 4096 after-idle\ntick 1")
    assert none["ops"][0]["after_idle"] == {"ios": 0, "bins": [], "latency_ns": dict.fromkeys(none["ops"][0]["after_idle"]["latency_ns"])}
    idle = two["ops"][0]["after_idle"]      # 953.674 ns * 2^(47/8), 2^6; 2^11, 2^(89/8)
    assert (idle["ios"], idle["latency_ns"]["mean"], idle["bins"]) == (2, 1030500, [[55969, 61035, 1], [1953125, 2129897, 1]])
    assert "after_idle" not in answers(tmp_path, HEAD + SEVEN)[0][0]["ops"][0]


def test_accounts_in_full(tmp_path):
    """Large counts, each reason, and the end of a device."""
    (_, line), _ = answers(tmp_path, f"{HEAD}{SEVEN}account no_start 10\naccount tag_range 20\naccount before 9\naccount unissued 10\ngone\ntick 1",
                           f"UPDATE state SET kernel_ios = {10**17}")
    a = line["accounting"]
    assert (a["lost"], a["lost_by"], a["before_start"], a["unissued"]) == (30, {"no_start": 10, "tag_range": 20}, 9, 10)
    assert a["kernel_ios"] == 10**17 and line["gone"] is True
