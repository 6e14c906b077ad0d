# SPDX-License-Identifier: GPL-2.0-only
"""The manual names every key in the JSON of report and compare and every finding, and no others."""
import re

import pytest
from script import TESTS, write_recording
from sql import change

import manual
import synthetic
from phases import mark
from recordings import ROOT, compared

# Objects whose keys are names of other things, or are described in place.
OPEN = ("accounting", "queue_depth", "repeats", "values")
LIKE_OTHERS = ("findings", "phases.groups", "runs.watches.slow.ios")  # described as runs.findings, as groups, and as the slow IOs of live
# The part of each IO where it does not follow from the size.
IN = {"depth": "in=1", "beside": "in=nothing", "cgroup": "in=/"}
# One percentile represents all.
PERCENTILE = re.compile(r"p(90|95|99(\.9+)?)$")


def keys_of(value, path=""):
    if path in LIKE_OTHERS:
        return {path + ".*"}
    if isinstance(value, dict) and value:
        if path.rsplit(".")[-1] in OPEN:
            return {path + ".*"}
        return {k for key, v in value.items() if not PERCENTILE.match(key)
                for k in keys_of(v, f"{path}.{key}" if path else key)}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {k for v in value for k in keys_of(v, path)}
    return {path}


@pytest.fixture
def stacked(tmp_path):
    """A recording with everything that one can have: stacked devices, a mark, pauses, losses."""
    script = synthetic.mixed()
    script.lines += ["account no_start 3", "busy 1ms", "io read 90000ns 4096 x10", "part write 4096 errors=1", "tick 1"]
    file = script.write(tmp_path / "run.blklat")
    return change(file, "INSERT INTO lower SELECT a.id, b.id FROM device a, device b WHERE a.name = 'sda' AND b.name = 'sdb'",
                  "INSERT INTO identity VALUES(0, 'S', 'W', 'F', 'P', 'V')",
                  "INSERT INTO mark SELECT mono_ns, wall_ns, 'half' FROM interval WHERE id = 3")


def test_report(stacked, tmp_path, report):
    named = {k for k in keys_of(report(divided(tmp_path / "divided.txt"))) if ".part." in k}
    named |= {k.replace("runs.", "runs.phases.", 1) for k in named}
    parts = named.union(*(of_parts(report(divided(tmp_path / f"{by}.txt", by))) for by in ("size", "depth", "beside", "cgroup")))
    slow = {k for k in keys_of(report(with_slow(tmp_path / "slow.txt"))) if ".slow." in k}
    stages = {k for k in keys_of(report(mark(write_recording(TESTS / "cli/replay/wait.txt", tmp_path / "stages.blklat"), (0, "all")))) if ".shares." in k}
    keys = keys_of(report(stacked)) | parts | slow | stages
    assert "runs.stacks.ops.overhead_ns.mean" in keys and "runs.marks.text" in keys
    # What a finding speaks for has the keys of findings.
    keys = {k.partition(".also.")[0] + ".also" * (".also." in k) for k in keys}
    # Without IOs after a pause or anything to compare with, some are null.
    assert set(manual.keys("report")) == set(manual.leaves(keys))


def test_compare(stacked, tmp_path):
    other = mark(synthetic.repeated(3, ("read", 1e5, 100), devices=("sda", "sdz", "sdy")).write(tmp_path / "other.blklat"), (0, "half"), (2, "more"))
    document = compared(stacked, other, "--fail-if", "read.p50 > 1ns", status=3)
    parts = divided(tmp_path / "divided.txt")
    keys = keys_of(document) | keys_of(compared(parts, parts))
    keys |= keys_of(compared("--fail-if", "read.p50 > +1%", "--map", "sda=sda", "--baseline", parts, parts, "--", parts, parts))
    assert document["unpaired"] and document["unpaired_phases"]
    assert set(manual.keys("compare")) == set(manual.leaves(keys))


def of_parts(document):
    """Keys that only a part has, without its name."""
    watches = document["runs"][0]["watches"]
    keys = [keys_of({"runs": {"watches": [w for w in watches if ("part" in w) == part and w["ops"]]}}) for part in (True, False)]
    return {k for k in keys[0] - keys[1] if ".part." not in k}


def divided(path, by="size"):
    return synthetic.repeated(1, ("read", 1e5, 100, 4096, IN.get(by, "")), by=by).write(path)


def with_slow(path):
    s = synthetic.Script()
    s.lines.insert(4, "slow-max 1")
    s.lines.append("slow read 1ms 4096")
    s.io("read", 1e6)
    s.tick()
    return s.write(path)


def test_findings():
    """Those in the program's source."""
    text = "\n".join(manual.section("FINDINGS", "report"))
    sources = "".join(p.read_text() for p in sorted((ROOT / "userspace/report").glob("findings*.[ch]")))
    kinds = set(re.findall(r'finding_add\(\S+, "(\w+)"', sources))
    assert kinds == set(re.findall(r'^\t\{ "(\w+)", FINDING_', sources, re.M))
    assert set(re.findall(r"^\.It Cm (\w+)$", text, re.M)) == kinds
    named = set(re.findall(r"\b[a-z][a-z0-9_]+\b", " ".join(re.findall(r"^Figures: (.*?)\n\.", text, re.M | re.S))))
    said = {name for call in re.findall(r"finding_values?\(\w+, (.*?)\);", sources, re.S) for name in re.findall(r'"(\w+)"', call)}
    assert len(said) > 10 and said <= named, said - named
