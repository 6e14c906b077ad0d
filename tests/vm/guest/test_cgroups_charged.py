# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by the cgroup (version 2) that they are charged to. Each engine is the other's witness; so are fio's totals."""
import contextlib
import itertools
import pathlib
import subprocess
import tempfile
from collections import Counter

from cgroups import enter, hierarchy
from devices import run, unmount
from engines import both
from faulty import null_blks
from guest import DEEP, at_least, null_blk
from load import fio, fio_argv, wait_until
from parts import labels_of, parts_of
from slow import slow_of
from stack import file_loop

STAGES = "device", "queue", "total"


def divided(*devices, stages=STAGES, more=(), interval=None):
    args = ("--by", "cgroup", *more)
    return both(*devices, stage=",".join(stages), interval=interval, bpf_args=args, kmod_args=args)


def assert_parts(engines, device, stages, wanted):
    for stage in stages:
        engines.agree(device, stage)
        for b in engines:
            assert parts_of(b, labels_of(b), device, stage) == wanted, stage


def fio_in(group, device, **options):
    return subprocess.Popen(fio_argv(device, **options), stdout=subprocess.DEVNULL, preexec_fn=enter(group))


def test_each_its_own():
    """
    At once: a cgroup, its child, and a process in the root cgroup; each slow IO has its cgroup, too. Then new cgroups that
    all CPUs first see at the same time: they have one part each.
    """
    with hierarchy() as make, null_blks({"irqmode": 2}, {"submit_queues": 2}) as (device, fast):
        device.setting("scheduler", "mq-deadline")
        device.setting("nomerges", 2)  # random IOs may be neighbours
        outer, inner = make("slice"), make("other/a b.service")
        with divided(device, fast, more=("--slow", "1us", "--slow-max", "10000")) as engines:
            jobs = [fio_in(outer, device, rw="randread", bs=4096, number_ios=300, **DEEP),
                    fio_in(inner, device, rw="randwrite", bs=65536, number_ios=200, **DEEP)]
            fio(device, rw="randread", bs=4096, number_ios=100)
            assert [job.wait(timeout=120) for job in jobs] == [0, 0]
            for n in range(6):
                job = fio_in(make(f"g{n}"), fast, rw="randread", bs=4096, number_ios=40, ioengine="libaio", iodepth=16, numjobs=3)
                assert job.wait(timeout=60) == 0
            engines.settle()
    assert_parts(engines, device, ("device", "total"),
                 {"/slice": {"read": 300}, "/other/a b.service": {"write": 200}, "/": {"read": 100}})
    assert_parts(engines, fast, ("device", "total"), {f"/g{n}": {"read": 120} for n in range(6)})
    for b in engines:
        assert parts_of(b, labels_of(b), device, "queue").keys() <= {"/slice", "/other/a b.service", "/"}
        for stage in "device", "total":
            slow = slow_of(b, device, stage)
            assert Counter((io["part"]["label"], io["op"]) for io in slow) == {
                ("/slice", "read"): 300, ("/other/a b.service", "write"): 200, ("/", "read"): 100}
            # The owner of a slow IO may be missing, see test_slow_ios.py.
            others = [io["cgroup"] for io in slow if io["cgroup"] != io["part"]["label"]]
            assert set(others) <= {None} and len(others) <= (12 if b is engines.bpf else 3), others


def test_room():
    """
    Room for two. Both engines at once: each reuses a number only when its own captures have released it, so those that end make
    room. Of those that stay, the third and fourth are the rest.
    """
    with hierarchy() as make, null_blk(irqmode=2) as (device,), \
            divided(device, stages=("device", "total"), interval=0.2, more=("--max-parts", "2")) as engines:
        for n in range(4):
            group = make(f"g{n}")
            assert fio_in(group, device, rw="randread", bs=4096, number_ios=10 + n).wait(timeout=60) == 0
            for b in engines:
                b.next(device, "device", n=2)
            group.rmdir()
            for b in engines:
                b.next(device, "device", n=8)
        for name, ios in ("a", 20), ("b", 21), ("c", 22), ("d", 23), ("b", 100):
            assert fio_in(make(name), device, rw="randread", bs=4096, number_ios=ios).wait(timeout=60) == 0
        engines.settle()
    assert_parts(engines, device, ("device", "total"), {
        **{f"/g{n}": {"read": 10 + n} for n in range(4)}, "/a": {"read": 20}, "/b": {"read": 121}, "rest": {"read": 45}})


# Since 5.13 ext4 has a thread read the block bitmaps at some moment in the first seconds, perhaps when only one engine watches.
AT_REST = "noinit_itable,no_prefetch_block_bitmaps" if at_least(5, 13) else "noinit_itable"


@contextlib.contextmanager
def mounted():
    """A device, and where its ext4 without a journal is mounted. It has no IO but ours."""
    with file_loop() as device, tempfile.TemporaryDirectory(prefix="blklat-test-") as folder:
        run("modprobe", "ext4")
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", device.path)
        run("mount", "-o", AT_REST, device.path, folder)
        try:
            run("sync", "-f", folder)
            yield device, folder
        finally:
            unmount(folder)


def dd_in(group, *args):
    done = subprocess.run(["dd", *args], capture_output=True, text=True, preexec_fn=enter(group))
    assert done.returncode == 0, done.stderr


def charged_bytes(group, device):
    """What the kernel itself says that a cgroup has written."""
    for line in (group / "io.stat").read_text().splitlines():
        number, *counts = line.split()
        if number == device.number:
            return int(dict(c.split("=") for c in counts)["wbytes"])
    return 0


def written_back_to(group, device, folder):
    """
    Waits until what the cgroup writes into the cache is charged to it. The kernel makes what that takes when the cgroup
    first dirties a file; if it has no memory at hand at that moment, the file is the root's (fs/fs-writeback.c,
    __inode_attach_wb()).
    """
    files = itertools.count()

    def charged():
        dd_in(group, "if=/dev/zero", f"of={folder}/first{next(files)}", "bs=4k", "count=1")
        run("sync", "-f", folder)
        return charged_bytes(group, device)

    wait_until(charged, "IO charged to the cgroup")
    return group


def test_written_back():
    """
    What a cgroup wrote into the cache is charged to it when another task writes it to the disk; even to one that has ended,
    whose directory and number are gone: its pages are not another one's.
    """
    with contextlib.ExitStack() as undo:
        make, (device, folder) = undo.enter_context(hierarchy()), undo.enter_context(mounted())
        background = pathlib.Path("/proc/sys/vm/dirty_writeback_centisecs")
        was = background.read_text()
        undo.callback(background.write_text, was)
        background.write_text("0")
        writer, other = written_back_to(make("writer"), device, folder), make("other")
        before = charged_bytes(writer, device)
        with divided(device, stages=STAGES[::2], interval=0.2, more=("--max-parts", "3")) as engines:
            dd_in(writer, "if=/dev/zero", f"of={folder}/file", "bs=1M", "count=8")
            run("sync", "-f", folder)
            charged = charged_bytes(writer, device) - before
            engines.settle()
            alive = [(b.total("bytes", "write", device, stage, "/writer"), b.total("bytes", "write", device, stage, "/"))
                     for b in engines for stage in STAGES[::2]]
            dd_in(writer, "if=/dev/zero", f"of={folder}/late", "bs=1M", "count=4")
            writer.rmdir()
            for b in engines:
                b.next(device, "device", n=10)
            # The pages that it left are written now, while another one reads.
            dd_in(other, f"if={folder}/file", "of=/dev/null", "bs=1M", "iflag=direct")
            run("sync", "-f", folder)
            engines.settle()
    assert charged >= 8 << 20
    for of_writer, of_root in alive:
        # Metadata is charged to the root.
        assert of_writer == charged and of_root < 1 << 20, alive
    for stage in STAGES[::2]:
        engines.agree(device, stage)
        for b in engines:
            found = parts_of(b, labels_of(b), device, stage)
            assert "write" not in found["/other"] and "rest" not in found, found
            assert b.total("bytes", "read", device, stage, "/other") == 8 << 20, (stage, found)
            assert b.total("bytes", "write", device, stage) >= 12 << 20, (stage, found)
