# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by the cgroup that they are charged to, against the totals of fios in cgroups of their own."""
import contextlib
import json
import sqlite3
import subprocess

from groups import groups
from load import BLKLAT, Blklat, assert_all_counted, exact
from parts import labels_of, parts_of
from recorder import Recorder

STAGES = "device", "total"


@exact
def test_ids_that_look_alike(loop):
    """The programs look an id up by its lower eight bits first: here two cgroups with equal ones take turns."""
    with groups() as g:
        by_bits = {}
        for n in range(257):
            by_bits.setdefault(g.make(f"d{n}").stat().st_ino % 256, []).append(f"d{n}")
        first, second, *_ = next(names for names in by_bits.values() if len(names) > 1)
        with Blklat(loop, stage=",".join(STAGES), args=["--by", "cgroup"]) as b:
            for turn in range(5):
                for path, n in (first, 1), (second, 2):
                    g.run(path, "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={n + turn}", "iflag=direct")
            b.next(loop, n=2)
        for stage in STAGES:
            assert_all_counted(b, loop, stage)
            assert parts_of(b, labels_of(b), loop, stage) == {f"{g.name}/{first}": {"read": 15}, f"{g.name}/{second}": {"read": 20}}


@exact
def test_recorded(loop, tmp_path):
    """In the file, a part's next owner is another watch, and an owner that comes again is the same; a replay has all of them."""
    counts = {"g0": 5, "g1": 6, "again": 7 + 8, "g3": 9}
    file = tmp_path / "run.blklat"
    with groups() as g, Recorder(loop, file, "--stage", "device,total", "--by", "cgroup", "--max-parts", "1",
                                 interval=0.1) as r:
        for name, n in ("again", 7), ("g0", 5), ("g1", 6), ("again", 8), ("g3", 9):
            g.remove(g.run(name, "sh", "-c", f"dd if={loop.path} of=/dev/null bs=4k count={n} iflag=direct; sleep 0.3"))
            r.more(10)
        assert r.stop() == 0, r.stderr
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT stage, part, sum(ios) FROM op_interval GROUP BY stage, part ORDER BY stage, part").fetchall() == \
            [(stage, f"{g.name}/{name}", n) for stage in STAGES for name, n in sorted(counts.items())]
        assert db.execute("SELECT stage, sum(ios) FROM watch_interval GROUP BY stage ORDER BY stage").fetchall() == \
            [(stage, sum(counts.values())) for stage in STAGES]
    told = [json.loads(line) for line in subprocess.run([BLKLAT, "--replay", file, "--format", "json"], check=True, capture_output=True,
                                                        text=True).stdout.splitlines()]
    for stage in STAGES:
        found = {}
        for line in told:
            if line["stage"] == stage:
                label = line.get("part", {}).get("label")
                found[label] = found.get(label, 0) + sum(o["ios"] for o in line["ops"])
        assert found == {f"{g.name}/{name}": n for name, n in counts.items()} | {None: sum(counts.values())}
