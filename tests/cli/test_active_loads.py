# SPDX-License-Identifier: GPL-2.0-only
"""The active window, and the rates over it, of runs whose load is known by construction, second by second."""
import json

import pytest
from attacks import run
from script import write_recording

LOAD = [f"io write 1ms 4096 x{n}" for n in (0, 280, *[400] * 59, 120, 0, 0)]
FULL = "io write 1ms 4096 x400"
QUEUED = "\n".join(f"io write {round(4e9 * busy_s / n)}ns 4096 x{n}\ntick 1" for n, busy_s in (
    (2000, 0.5), (1000, 1), (4000, 1), (2000, 1), (3000, 1), (3000, 0.25)))
ASKED = [f"io write 1ms 4096 x{300 if i == 2 else 400 if 2 < i < 17 else 200 if i == 17 else 0}" for i in range(20)]


def seconds(lines):
    return "".join(f"{line}\ntick 1\n" for line in lines)


def hangs(kernel):
    """The load stops after 9.75 s; from then on one IO is in flight, whose end the kernel may have seen."""
    return seconds([*[FULL] * 9, f"{kernel}\nio write 1ms 4096 x300", *[f"in-flight 1 oldest={i}s" for i in range(1, 11)]])


CASES = {
    # 400 IOs a second for a minute that begins 0.3 s into the second interval; then 2 s without.
    "the ends count by their IOs": (seconds(LOAD), 1.3, 61.3),
    # In the first second there are reads alone. It is no less whole for the writes that begin after it. One read comes never again.
    "each op by its own rate": ("".join(f"on sda device\nio read 1ms 4096 x{400 if i < 3 else 200}\non sdb device\n" +
                                        ("io write 1ms 4096 x800" if i else "io read 1ms 4096") + "\ntick 1\n" for i in range(4)), 0, 3.9),
    # Four IOs in flight throughout, for 0.5 s of the first second and 0.25 s of the last, however fast the device is.
    "by queue depth where that is steadier": (QUEUED, 0.5, 5.25),
    "a rest is not cut out": (seconds([*[FULL] * 10, *[""] * 10, *[FULL] * 10]), 0, 30),
    # It is cut short as the recorded command ended, and has nothing beside it.
    "one interval counts as a whole": ("io write 1ms 4096 x300\ntick 0.6", 0, 0.6),
    # What is in flight at the end was so until then; an IO whose end was missed is not in flight.
    "in flight is active": (hangs(""), 0, 20), "an end that was missed": (hangs("kernel-ios +1"), 0, 9.75),
    # The first IOs start in one interval, 0.1 s before its end, and end in the next.
    "a begin without ends is active": (seconds([*[""] * 5, "in-flight 32 oldest=100ms", f"in-flight 0\n{FULL}", FULL, FULL, "", ""]), 5.9, 9),
    # Another device writes its log now and then, and has one write in flight at the end.
    "devices with little IO do not count": (seconds(
        f"on sda device\n{FULL if 10 <= i < 30 else ''}\non sdb device\nio write 1ms 4096\n{'in-flight 1 oldest=1us' if i == 39 else ''}"
        for i in range(40)), 10, 30),
    "no IO at all": (seconds([""] * 10), 0, 10),
}


def report(tmp_path, script, *args):
    file = write_recording(f"blklat-replay 1\ndevice sda\ndevice sdb\nwatch sda device\nwatch sdb device\n{script}", tmp_path / "run.blklat")
    done = run("report", "--format", "json", file, *args)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["runs"][0]


def totals(of, from_s, to_s):
    """Of each device, after a look at the window and that the first device's IOs are over it."""
    assert (of["active"]["from_s"], of["active"]["to_s"]) == pytest.approx((from_s, to_s), abs=1e-6)
    assert of["active"]["left_out"] == (from_s % 1 > 0) + (to_s % 1 > 0) * (len(of["start_s"]) > 1)
    each = [{op["op"]: op["total"] for op in watch["ops"]} for watch in of["watches"]]
    for total in each[0].values():
        assert total["iops"] * (to_s - from_s) == pytest.approx(total["ios"], rel=1e-4)
    return each


@pytest.mark.parametrize("script, from_s, to_s", CASES.values(), ids=CASES)
def test_window(tmp_path, script, from_s, to_s):
    totals(report(tmp_path, script), from_s, to_s)


def test_rates(tmp_path):
    """400 a second that take 1 ms each; the ends are no worse than the rest."""
    write = totals(report(tmp_path, seconds(LOAD)), 1.3, 61.3)[0]["write"]
    assert [write[key] for key in ("ios", "iops", "bytes_per_s", "queue_depth", "iops_deviation", "iops_worst", "iops_worst_at_s",
                                      "intervals_at_0")] == [400 * 60, 400, 400 * 4096, 0.4, 0, 400, 2, 0]


def test_a_device_that_went_away(tmp_path):
    """Its rate is over the 5 s that it was there."""
    io = "io read 1ms 4096 x100"
    each = totals(report(tmp_path, seconds(f"on sda device\n{io}\n" + (f"on sdb device\n{io}\n{'gone' if i == 4 else ''}" if i < 5 else "")
                                           for i in range(10))), 0, 10)
    assert [op["read"]["iops"] for op in each] == [100, 100]


@pytest.mark.parametrize("args, from_s, to_s", [((), 2.25, 17.5), (("--from", "0"), 0, 17.5), (("--to", "20"), 2.25, 20), (("--from", "0", "--to", "20"), 0, 20)])
def test_what_was_asked_for_stays(tmp_path, args, from_s, to_s):
    totals(report(tmp_path, seconds(ASKED), *args), from_s, to_s)
