# SPDX-License-Identifier: GPL-2.0-only
"""Settings that change during a run: no IO gets lost."""
import pytest
from devices import Delta
from load import BURST, Blklat, Fio, Unseen
from needs import need

DEPTH = {"ioengine": "libaio", "iodepth": 1500, "rw": "randread", "time_based": 1, "runtime": 3600}


@pytest.fixture
def deep_loop(loop):
    """A loop device without a scheduler at first, so that each IO becomes one request."""
    need("mq-deadline" in loop.setting("scheduler"), "no mq-deadline")
    loop.setting("nomerges", 2)
    return loop


def divided(lines):
    """For each interval the line of the whole, and those of its parts, which follow it."""
    groups = []
    for line in lines:
        if "part" in line:
            groups[-1][1].append(line)
        else:
            groups.append((line, []))
    return groups


def op_sums(lines):
    return [sum(o[key] for line in lines for o in line["ops"]) for key in ("ios", "bytes", "errors")]


def test_parts_stay(deep_loop):
    """With --by size: each IO stays in its part and is in the whole once."""
    sizes = {"4 KiB": 4096, "64 KiB": 65536}
    stat = Delta(deep_loop)
    stages = "device", "total"
    deep_loop.setting("scheduler", "mq-deadline")
    with Unseen() as unseen, Blklat(deep_loop, stage=",".join(stages), interval=0.1, args=["--by", "size"]) as b:
        with Fio(deep_loop, **DEPTH) as small, Fio(deep_loop, **DEPTH, bs="64k") as large:
            for f in small, large:
                f.until(lambda: stat()["reads"] > 10 * BURST, "its first IOs")
            b.next(deep_loop, "total", n=10)
            deep_loop.setting("nr_requests", 2000)
            b.next(deep_loop, "total", n=15)
            done = dict(zip(sizes, (small.end().ios("read"), large.end().ios("read"))))
        b.next(deep_loop, "total", n=10)
    assert stat()["reads"] == sum(done.values())
    for stage in stages:
        intervals = divided([l for l in b.lines if (l["device"], l["stage"]) == (deep_loop.name, stage)])
        a = intervals[-1][0]["accounting"]
        assert a["started"] == sum(done.values()) == a["completed"] + a["in_flight"] + a["lost"]
        assert a["in_flight"] + a["lost"] <= unseen.of(deep_loop), a
        for whole, parts in intervals:
            assert op_sums([whole]) == op_sums(parts), (whole, parts)
        counted = {}
        for line in [line for _, parts in intervals for line in parts if line["ops"]]:
            counted.setdefault(line["part"]["label"], []).append(line)
        assert counted.keys() == sizes.keys()
        missing = 0
        for label, size in sizes.items():
            ios_of, bytes_of, errors = op_sums(counted[label])
            assert bytes_of == size * ios_of and not errors
            assert 10 * BURST < ios_of <= done[label]
            missing += done[label] - ios_of
        assert missing == a["in_flight"] + a["lost"]
