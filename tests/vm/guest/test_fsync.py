# SPDX-License-Identifier: GPL-2.0-only
"""
The classic case: a writer that calls fsync makes the reads of others slow. A loop device on a file system does one IO at a time, and its
flush waits for a disk whose flushes take 50 ms.
"""
import contextlib
import json
import pathlib
import tempfile

from devices import MIB, backing_file, loop_on, run, unmount
from faulty import null_blks
from guest import DEEP, module
from load import BLKLAT, Fio, fio
from recorder import Recorder
from stack import dm

FLUSH_MS, FLUSHES = 50, 20
READERS, READS = 4, 300  # a paced reader has nothing in flight while it waits for its time (fio's io_u_quiesce())
SLOW_MS = 20
FIO_PERCENTILES = 1, 5, 10, 20, 30, 40
MS = 1000000


@contextlib.contextmanager
def slow_to_flush():
    """A loop device on a file of an ext4 whose disk delays flushes alone."""
    with null_blks({"size": 256, "memory_backed": 1, "cache_size": 64}) as (below,), \
            dm("delay", below, 0, below.path, 0, 0, below.path, 0, FLUSH_MS) as disk, tempfile.TemporaryDirectory() as folder:
        run("mkfs.ext4", "-q", "-O", "^has_journal", disk.path)
        run("modprobe", "ext4")
        run("mount", disk.path, folder)
        try:
            with module("loop"), backing_file(folder, 32 * MIB) as file, loop_on(file, direct=False) as device:
                fio(device, rw="write", bs="1M", number_ios=32, fsync=32)
                yield device
        finally:
            unmount(folder)


def test_reads_beside_flushes():
    """The parts show it, the report finds it, and so do the single slow IOs. That both engines find the same is in test_by_engines.py."""
    with slow_to_flush() as device, tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        file = pathlib.Path(folder) / "run.blklat"
        args = "--quiet", "--by", "beside", "--slow", f"{SLOW_MS}ms", "--slow-max", "10000"
        with Recorder(device, file, *args) as r:
            with Fio(device, rw="randwrite", bs=4096, fsync=1, rate_iops=3, number_ios=FLUSHES, ioengine="psync") as writer:
                reader = fio(device, rw="randread", bs=4096, numjobs=READERS, rate_iops=50, number_ios=READS, **DEEP)
                writer = writer.result()
            r.more(2)
            assert r.stop() == 0, r.stderr
        run_, = json.loads(run(BLKLAT, "report", "--format", "json", file))["runs"]
    whole, = [w for w in run_["watches"] if "part" not in w]
    ops = {o["op"]: o["total"] for o in whole["ops"]}
    assert (ops["read"]["ios"], ops["write"]["ios"]) == (reader.ios("read"), writer.ios("write")) == (READERS * READS, FLUSHES)
    assert ops["flush"]["latency_ns"]["p50"] >= FLUSH_MS * MS / 2
    parts = {w["part"]["label"]: {o["op"]: o["total"] for o in w["ops"]} for w in run_["watches"] if "part" in w}
    assert sum(part.get("read", {"ios": 0})["ios"] for part in parts.values()) == READERS * READS
    assert parts["flush"]["read"]["ios"] > 2 * FLUSHES, "each flush takes longer than a reader waits between two reads"
    slow, fast = (parts[label]["read"]["latency_ns"]["p50"] for label in ("flush", "nothing"))
    assert slow > FLUSH_MS * MS / 5 and slow > 5 * fast
    # As fio sees it: as many are fast as half of those beside nothing, which may be few on a busy machine, and some wait for a flush.
    beside_nothing = parts["nothing"]["read"]["ios"] / (READERS * READS)
    assert reader.clat_ns("read", max(p for p in FIO_PERCENTILES if p == 1 or p < 50 * beside_nothing)) < slow / 2
    assert reader.clat_ns("read", 99) > FLUSH_MS * MS / 5
    found = [(f["kind"], f["op"], f["text"]) for f in run_["findings"]]
    assert any(kind == "beside" and op == "read" and "slower beside a flush" in text for kind, op, text in found), found
    bins = [bin_ for o in whole["ops"] for bin_ in o["bins"]]
    surely, maybe = (sum(n for *ends, n in bins if ends[end] >= SLOW_MS * MS) for end in (0, 1))
    assert surely <= whole["slow"]["found"] == len(whole["slow"]["ios"]) <= maybe
    # Unless the machine is so busy that what is beside no flush is often slow, too.
    often = sum(io["beside"] == "flush" for io in whole["slow"]["ios"]) / whole["slow"]["found"]
    of_all = sum(o["ios"] for o in parts["flush"].values()) / sum(o["ios"] for o in ops.values())
    assert often < 2 * of_all or any(kind == "slow_common" and "are beside flush" in text for kind, _, text in found), (often, of_all, found)
