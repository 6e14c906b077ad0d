# SPDX-License-Identifier: GPL-2.0-only
"""Does fio agree? Its output in JSON as one side of a comparison: fio's own counts and percentiles, and IOs that are known."""
import json
import shutil
import subprocess

import pytest
from asked import answer

import synthetic

BIN = 1 / 64 + 1 / 128  # fio's bins have 1/64 of an octave's lower half; ours 1.09 %
LATENCIES = [("read", 90_000, 5000), ("read", 2_000_000, 50), ("write", 30_000, 700)]


def fio_bin(ns):
    """The middle of fio's bin (plat_idx_to_val() in its stat.c): 64 of them an octave."""
    width = 1 << max(ns.bit_length() - 7, 0)
    return ns // width * width + width // 2


def output(*, disks=("sda",), key="clat_ns", bins=True, seconds=10):
    """What two jobs that did the same would print, after a message of fio's."""
    job = {}
    for op in ("read", "write", "trim"):
        told = [(ns, n) for name, ns, n in LATENCIES if name == op]
        total = sum(n for _, n in told)
        latencies = {"min": min((ns for ns, _ in told), default=0), "max": max((ns for ns, _ in told), default=0), "N": total,
                     "mean": sum(ns * n for ns, n in told) / max(total, 1)}
        if bins:
            latencies["bins"] = {str(fio_bin(ns)): n for ns, n in told}
        job[op] = {"total_ios": total, "io_bytes": total * 4096, "runtime": seconds * 1000, key: latencies}
    whole = {"fio version": "fio-3.33", "timestamp_ms": 1763710500000, "jobs": [job, job], "disk_util": [{"name": name} for name in disks]}
    return "fio: a message\n" + json.dumps(whole)


def compare(*args, status=0):
    r = answer("compare", "--format", "json", *map(str, args))
    assert r.returncode == status, r.stderr
    return json.loads(r.stdout) if status in (0, 3) else r.stderr, r.stderr


def recording(tmp_path):
    return synthetic.repeated(10, *((op, ns, n // 5) for op, ns, n in LATENCIES)).write(tmp_path / "run.blklat")


@pytest.mark.parametrize("disks,key", [(["sda"], "clat_ns"), (["sdx"], "clat_ns"), (["sda", "sdb"], "lat_ns"), ([], "clat_ns")], ids=str)
def test_the_same_ios(tmp_path, disks, key):
    """Whatever the device is called, as it is the only one of either side."""
    (tmp_path / "fio.json").write_text(output(disks=disks, key=key))
    told, said = compare(tmp_path / "fio.json", recording(tmp_path))
    assert said == f"blklat: {tmp_path}/fio.json has what fio measured, above the block layer, in bins that are up to 0.8 % off\n"
    assert {g["op"] for g in told["groups"]} == {"read", "write"}
    for group in told["groups"]:
        fio, ours = group["runs"]
        assert fio["ios"] == ours["ios"] == 2 * sum(n for op, _, n in LATENCIES if op == group["op"])
        assert (fio["iops"], fio["bytes"]) == (ours["iops"], ours["bytes"])
        assert fio["latency_ns"]["max"] == ours["latency_ns"]["max"]
        assert fio["latency_ns"]["mean"] == pytest.approx(ours["latency_ns"]["mean"], abs=0.1)
        for p in ("p50", "p90", "p99", "p99.9"):
            assert fio["latency_ns"][p] == pytest.approx(ours["latency_ns"][p], rel=BIN)


def test_a_real_run(tmp_path):
    """Of fio's engine that does nothing: its counts, and its percentiles."""
    if not shutil.which("fio"):
        pytest.skip("fio is not installed")
    file = tmp_path / "fio.json"
    subprocess.run(["fio", "--name=x", "--ioengine=null", "--size=100M", "--rw=randrw", "--bs=4k", "--number_ios=20000", "--numjobs=2",
                    "--group_reporting", "--output-format=json+", f"--output={file}"], check=True, capture_output=True, timeout=60)
    text = file.read_text()
    [job] = json.loads(text[text.index("{"):])["jobs"]
    told, _ = compare(file, file)
    for group in told["groups"]:
        run, fio = group["runs"][0], job[group["op"]]
        assert (run["ios"], run["bytes"]) == (fio["total_ios"], fio["io_bytes"])
        assert run["latency_ns"]["p50"] == pytest.approx(fio["clat_ns"]["percentile"]["50.000000"], rel=2 * BIN)
        assert run["latency_ns"]["max"] == fio["clat_ns"]["max"]
    assert len(told["groups"]) == 2


@pytest.mark.parametrize("text,sentence,status", [
    (output(bins=False), "has no bins of latencies: run fio with --output-format=json+", 2),
    (output()[:-9], "is no valid output of fio --output-format=json+", 2),
    ('{"fio version": 1}', "has no IOs of fio", 1),
    ('{"fio version": 1, "jobs": [{"read": {"total_ios": 1, "clat_ns": {"bins": {"-1": -5, "x": 1e300}}}}]}', "has no bins of latencies", 2),
    ('{"jobs": []}', "is not a recording", 1),
])
def test_what_is_no_output_of_fio(tmp_path, text, sentence, status):
    (tmp_path / "fio.json").write_text(text)
    r = answer("compare", str(tmp_path / "fio.json"), str(recording(tmp_path)))
    assert f"blklat compare: {tmp_path}/fio.json: {sentence}" in r.stderr
    assert (r.returncode, r.stdout) == (status, "")
