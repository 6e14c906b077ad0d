# SPDX-License-Identifier: GPL-2.0-only
"""An owner's percentiles over time, of all of its ops: against the bins of each interval, merged here."""
import collections
import itertools
import json
import math
import subprocess

import pytest

import synthetic
from recordings import BLKLAT, ENV, blklat

SECONDS = 600
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
DB, BACKUP, LOG = "/system.slice/db.service", "/system.slice/backup.service", "/log"


def owners():
    """Reads and writes of very different latency, in changing shares; one owner of a single op; one that begins late."""
    s = synthetic.Script(by="cgroup", scale=3)
    chance = s.random
    for second in range(SECONDS):
        for _ in range(chance.randrange(4)):
            s.io("read", 80e3 * math.exp(chance.gauss(0, 0.3)), chance.randrange(1, 200), more=f"in={DB}")
            s.io("write", 2e6 * math.exp(chance.gauss(0, 0.5)), chance.randrange(1, 30), more=f"in={DB}")
        if second % 3:
            s.io("read", 300e3 + 1e3 * second, 20, more=f"in={LOG}")
        if second > SECONDS / 2:
            s.io("write", 9e6, 10, more=f"in={BACKUP}")
            s.io("flush", 40e6, second % 2, size=0, more=f"in={BACKUP}")
        s.tick()
    return s


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return owners().write(tmp_path_factory.mktemp("owners") / "run.blklat")


def of_owners(document):
    run, = document["runs"]
    return run, {w["part"]["label"]: w for w in run["watches"] if "part" in w and w["all_ops"]}


@pytest.fixture(scope="module")
def merged_bins(recording):
    """The bins of all ops by owner and interval, which another command printed."""
    found, ends = collections.defaultdict(dict), {}
    for line in map(json.loads, blklat("live", "--replay", recording, "--format", "json", "--bins").splitlines()):
        at = ends.setdefault(line["time"], len(ends))
        if "part" not in line:
            continue
        bins = found[line["part"]["label"]].setdefault(at, collections.Counter())
        for lower, upper, ios in (b for op in line["ops"] for b in op["bins"]):
            bins[lower, upper] += ios
    assert len(ends) == SECONDS
    return found


def bin_of(bins, share):
    """The bin with the IO whose latency that share of them does not exceed."""
    rank = math.ceil(share * sum(bins.values()) - 1e-9)
    for (lower, upper), ios in sorted(bins.items()):
        rank -= ios
        if rank <= 0:
            return lower, upper


def assert_of_bins(all_ops, intervals):
    for name, share in SHARES.items():
        for value, bins in zip(all_ops["percentiles_ns"][name], intervals, strict=True):
            if sum(bins.values()):
                lower, upper = bin_of(bins, share)
                assert lower - 1 <= value <= upper + 1
            else:
                assert value is None


def test_against_merged_bins(recording, merged_bins, report):
    _, parts = of_owners(report(recording))
    assert set(parts) == {DB, BACKUP, LOG}
    for label, part in parts.items():
        assert_of_bins(part["all_ops"], [merged_bins[label].get(i, collections.Counter()) for i in range(SECONDS)])
    # It is neither op's, nor between the two at the same place: the shares differ.
    db = parts[DB]
    assert {o["op"] for o in db["ops"]} == {"read", "write"}
    own = [o["percentiles_ns"]["p90"] for o in db["ops"]]
    assert len({tuple(values) for values in (*own, db["all_ops"]["percentiles_ns"]["p90"])}) == 3
    # Of one op it is that op's.
    assert parts[LOG]["all_ops"]["percentiles_ns"] == parts[LOG]["ops"][0]["percentiles_ns"]


def test_of_merged_intervals(recording, merged_bins):
    """Where memory is too small for each interval, those of longer ones."""
    done = subprocess.run([BLKLAT, "report", "--format", "json", "--max-memory", "3M", recording], capture_output=True, text=True,
                          env=ENV, timeout=120, check=True)
    run, parts = of_owners(json.loads(done.stdout))
    assert run["merged"] > 1 and "are merged into one" in done.stderr
    ends = [round(start + length) for start, length in zip(run["start_s"], run["length_s"])]
    assert ends[-1] == SECONDS
    for label, part in parts.items():
        assert_of_bins(part["all_ops"], [sum((merged_bins[label].get(i, collections.Counter()) for i in range(a, b)), collections.Counter())
                                         for a, b in itertools.pairwise([0, *ends])])


def test_only_of_owners(tmp_path, report):
    run, = report(synthetic.mixed(by="size").write(tmp_path / "run.blklat"))["runs"]
    assert all("percentiles_ns" not in w["all_ops"] for w in run["watches"] if w.get("all_ops"))
    assert all("all_ops" not in w for w in run["watches"] if "part" not in w)
