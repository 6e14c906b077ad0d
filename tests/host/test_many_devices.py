# SPDX-License-Identifier: GPL-2.0-only
"""Hundreds of devices at once: each is counted, also while others come and go, and the run ends normally."""
import json
import random
import subprocess

import pytest
from devices import many_loops
from load import BLKLAT, DEADLINE_S, Fio, Missing, exact, fio, missing
from recorder import Recorder, assert_one_plain_file, ios

N = 150


@pytest.fixture(scope="module")
def many():
    with many_loops(N) as devices:
        yield devices


def churn(many, kept):
    """Removes all other devices in random order, and makes new ones with their names, which get IO of their own."""
    others = [d for d in many if d not in kept]
    for batch in 3, 2, 1:  # at once, then one by one
        random.shuffle(others)
        chosen, others = others[:len(others) // batch], others[len(others) // batch:]
        for device in chosen:
            many.remove(device)
        for device in chosen:
            many.attach(device)
        for device in chosen[:3]:
            fio(device, number_ios=7)


def load_on(device):
    """A load for as long as the churn takes: until its end()."""
    return Fio(device, rate_iops=30, time_based=1, runtime=3600)


@exact
def test_they_come_and_go_while_recorded(many, file):
    """
    Named one by one. Those that stay have every IO, one of them under load. Those that go are reported once, and get no IO of
    their successors. So it is shown, and recorded.
    """
    file.unlink(missing_ok=True)
    kept = many[0], many[N // 2], many[-1]
    others = [word for device in many[1:] for word in ("--dev", device.name)]
    with Recorder(many[0], file, "--format", "json", "--stage", "device,total", *others, interval=0.5) as r:
        with load_on(kept[1]) as f:
            churn(many, kept)
            fio(kept[2], number_ios=50)
            done = {kept[0]: 0, kept[1]: f.end().ios("read"), kept[2]: 50}
        r.more(2)
        assert r.stop() == 0
    gone = sorted(d.name for d in many if d not in kept)
    notices = [f"blklat: {name} went away" for name in gone]
    assert sorted(line for line in r.stderr.splitlines() if line.startswith("blklat")) == notices
    assert_one_plain_file(file)
    again = subprocess.run([BLKLAT, "--replay", file, "--format", "json"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert again.returncode == 0 and sorted(again.stderr.splitlines()) == notices
    assert again.stdout == "".join(r.lines)
    of_watch = {}
    for line in map(json.loads, r.lines):
        of_watch.setdefault((line["device"], line["stage"]), []).append(line)
    # Completions that this kernel hid are missing in the recording as well.
    if missing(of_watch[kept[1].name, "device"][-1]["accounting"]):
        raise Missing(of_watch[kept[1].name, "device"][-1]["accounting"])
    # Once at each stage; a bio of fio's is a request.
    total = 2 * sum(done.values())
    assert ios(file) == {"read": (total, 4096 * total, 0)}
    for stage in "device", "total":
        for device in many:
            lines = of_watch[device.name, stage]
            a = lines[-1]["accounting"]
            assert (a["started"], a["lost"], a["in_flight"]) == (done.get(device, 0), 0, 0)
            assert sum(o["ios"] for l in lines for o in l["ops"]) == a["completed"] == a["started"]
            assert [bool(l.get("gone")) for l in lines] == [False] * (len(lines) - 1) + [device.name in gone]
