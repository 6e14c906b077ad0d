# SPDX-License-Identifier: GPL-2.0-only
"""A service that divides IOs by size: its parts against 'blklat live'. On devices that come: test_serve_by_cgroup.py."""
import collections
import json
import re
import subprocess

from script import TESTS, recorded
from service import BLKLAT, Serve, refused

RECORDING = recorded(TESTS / "cli/replay/sizes.txt")


def test_outputs_have_the_parts_of_live():
    """The last interval equals live's JSON; in the stream's intervals parts add up; no loss or device is reported twice."""
    r = subprocess.run([BLKLAT, "live", "--replay", RECORDING, "--format", "json"], capture_output=True, check=True, timeout=60)
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    with Serve("--replay", RECORDING) as s, s.stream() as stream:
        _, name, told = stream.event()
        assert name == "run" and [d["name"] for d in told["devices"]] == ["nvme0n1", "sda"]
        intervals = [data for _, data in stream.intervals(4)]
        s.replayed()
        assert s.snapshot() == [line for line in lines if line["time"] == lines[-1]["time"]]
    assert sum(len(i["watches"]) for i in intervals) == len(lines)
    for data in intervals:
        parts = collections.Counter()
        wholes = {(w["device"], w["stage"], o["op"]): o["ios"] for w in data["watches"] if "part" not in w for o in w["ops"]}
        for line, w in zip((line for line in lines if line["time"] == data["time"]), data["watches"], strict=True):
            assert (w["device"], w["stage"], w.get("part")) == (line["device"], line["stage"], line.get("part"))
            assert ("accounting" in w) == ("part" not in w)
            assert [(o["op"], o["ios"], o["bytes"]) for o in w["ops"]] == [(o["op"], o["ios"], o["bytes"]) for o in line["ops"]]
            parts.update({(w["device"], w["stage"], o["op"]): o["ios"] for o in w["ops"] if "part" in w})
        assert parts == wholes


def test_more_than_fits_is_said(loop):
    """Each part needs as many counters as the whole."""
    r = refused("--dev", loop.name, "--max-memory", "64K", "--by", "size")
    assert r.returncode == 1
    assert re.fullmatch(r"blklat serve: the counters need \d+K of memory at scale 6 and may take 64K: raise --max-memory or lower "
                        r"--scale\n", r.stderr)
