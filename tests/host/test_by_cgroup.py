# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by whom they are charged to: fio's totals, each in a cgroup of its own."""
from groups import groups, ours
from load import Blklat, assert_all_counted, exact, fio
from parts import labels_of, parts_of

STAGES = "device", "total"


def watch(device, *args):
    return Blklat(device, stage=",".join(STAGES), args=["--by", "cgroup", *args])


@exact
def test_each_its_own(loop):
    """Three that work at once, and then one that comes and goes within an interval."""
    with groups() as g, watch(loop) as b:
        jobs = [g.start("a", loop, rw="randread", bs=4096, number_ios=10000, ioengine="io_uring", iodepth=16),
                g.start("b/nested one", loop, rw="randwrite", bs=65536, number_ios=900, ioengine="io_uring", iodepth=8)]
        f = fio(loop, rw="randread", bs=8192, number_ios=3000)
        assert [job.wait(timeout=60) for job in jobs] == [0, 0]
        b.next(loop, n=2)
        g.remove(g.run("short", "dd", "if=/dev/zero", f"of={loop.path}", "bs=4k", "count=7", "oflag=direct", "conv=notrunc"))
        b.next(loop, n=2)
    for stage in STAGES:
        assert_all_counted(b, loop, stage)
        found = parts_of(b, labels_of(b), loop, stage)
        assert found.pop(f"{g.name}/a") == {"read": 10000}
        assert found.pop(f"{g.name}/b/nested one") == {"write": 900}
        # Whether its directory was still there when it was looked for is a matter of luck.
        [short] = [label for label in found if "short" in label]
        assert short in (f"{g.name}/short", "short (gone)") and found.pop(short) == {"write": 7}
        assert found == {ours(): {"read": f.ios("read")}}


@exact
def test_more_than_there_is_room_for(loop):
    with groups() as g, watch(loop, "--max-parts", "4") as b:
        for n in range(7):
            g.run(f"g{n}", "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={10 + n}", "iflag=direct")
        g.run("g2", "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", "count=100", "iflag=direct")
        b.next(loop, n=2)
    for stage in STAGES:
        assert_all_counted(b, loop, stage)
        assert parts_of(b, labels_of(b), loop, stage) == {f"{g.name}/g{n}": {"read": 10 + n + 100 * (n == 2)} for n in range(4)} | \
            {"rest": {"read": 14 + 15 + 16}}


@exact
def test_ids_that_look_alike(loop):
    """The programs look for an id by its lower eight bits first: two that have the same ones, in turns."""
    with groups() as g:
        by_bits = {}
        for n in range(257):
            by_bits.setdefault(g.make(f"d{n}").stat().st_ino % 256, []).append(f"d{n}")
        first, second, *_ = next(names for names in by_bits.values() if len(names) > 1)
        with watch(loop) as b:
            for turn in range(5):
                for path, n in (first, 1), (second, 2):
                    g.run(path, "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={n + turn}", "iflag=direct")
            b.next(loop, n=2)
        for stage in STAGES:
            assert_all_counted(b, loop, stage)
            assert parts_of(b, labels_of(b), loop, stage) == {f"{g.name}/{first}": {"read": 15}, f"{g.name}/{second}": {"read": 20}}


@exact
def test_the_same_path_again(loop):
    """A service that was restarted is another cgroup, and is told apart from the one before."""
    dd = "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", "iflag=direct"
    with groups() as g, watch(loop) as b:
        g.run("service", *dd, "count=5")
        b.next(loop, n=2)
        g.remove(g.top / "service")
        g.run("service", *dd, "count=6")
        b.next(loop, n=2)
    for stage in STAGES:
        assert_all_counted(b, loop, stage)
        assert parts_of(b, labels_of(b), loop, stage) == {f"{g.name}/service": {"read": 5}, f"{g.name}/service #2": {"read": 6}}
