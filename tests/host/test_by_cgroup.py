# SPDX-License-Identifier: GPL-2.0-only
"""IOs divided by the cgroup that they are charged to, against the totals of fios in cgroups of their own."""
import pathlib
import re
import subprocess
import threading

import devices
from groups import groups
from load import Blklat, assert_all_counted, exact
from needs import need
from parts import labels_of, parts_of

STAGES = "device", "total"
# What it uses after it was unmapped is not there. The capture's programs are many, those that find devices two.
SLOW_CLOSE = """
#define _GNU_SOURCE
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
int munmap(void *at, size_t n)
{
	return mprotect(at, n, PROT_NONE);
}
void bpf_object__destroy_skeleton(struct bpf_object_skeleton *s)
{
	int programs = s->prog_cnt;
	((void (*)(void *))dlsym(RTLD_NEXT, "bpf_object__destroy_skeleton"))(s);
	sleep(programs > 2);
}
"""


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
def test_pods_and_volumes(loop, tmp_path):
    """A container is called as kubelet's link of its log says, one without a link by its path; the device has the volume mounted from it."""
    known, unknown, pod = "3f2a" * 16, "00aa" * 16, "kubepods.slice/kubepods-pod8c9c8f5e_7d3c_4c6b_9a54_0f4b1f1f2a3c.slice"
    (logs := tmp_path / "var/log/containers").mkdir(parents=True)
    (logs / f"mysql-0_shop_db-{known}.log").symlink_to("/nowhere")
    (mounts := tmp_path / "proc/1/mountinfo").parent.mkdir(parents=True)
    numbers = (pathlib.Path("/sys/block") / loop.name / "dev").read_text().strip()
    mounts.write_text(f"36 35 {numbers} / /var/lib/kubelet/pods/8c9c/volumes/kubernetes.io~csi/pvc-8f1c/mount rw - ext4 {loop.path} rw\n")
    with groups() as g, Blklat(loop, stage="device", args=["--by", "cgroup", "--slow", "1us", f"--kubernetes={tmp_path}"]) as b:
        for container, n in (known, 7), (unknown, 4):
            g.run(f"{pod}/cri-containerd-{container}.scope", "dd", f"if={loop.path}", "of=/dev/null", "bs=4k", f"count={n}", "iflag=direct")
        b.next(loop, n=2)
        path = f"{g.name}/{pod}/cri-containerd-{unknown}.scope"
        assert parts_of(b, labels_of(b), loop, "device") == {"shop/mysql-0/db": {"read": 7}, path: {"read": 4}}
        told = [line for line in b.lines if line["device"] == loop.name]
        assert {(p["namespace"], p["pod"], p["container"]) for p in (line.get("part", {}) for line in told) if "namespace" in p} == {
            ("shop", "mysql-0", "db")}
        assert {io["cgroup"] for line in told for io in line.get("slow", [])} == {"shop/mysql-0/db", path}
        assert {line["identity"]["volume"] for line in told if "part" not in line} == {"pvc-8f1c"}


def test_limits_of_version_1_are_told(loop):
    with groups() as g:
        need(not g.v2, "a hierarchy of cgroups of version 1")
        (g.make("slow") / "blkio.throttle.read_iops_device").write_text(f"{loop.number} 20")
        with Blklat(loop, stage="total") as b:
            assert re.search(rf"^blklat: cgroup {g.name}/slow has blkio\.throttle riops=20 of {loop.name}: waits for this limit are "
                             r"(part of stage total|in no stage, as this kernel does not let them be measured)$", b.stderr, re.M)


def test_owners_leave_while_a_capture_is_closed(loop, tmp_path, monkeypatch):
    """Processes end while another capture is opened, for a partition, and the one before it is closed, in a thread, slowly."""
    subprocess.run(["gcc", "-xc", "-", "-shared", "-fPIC", "-o", tmp_path / "slow.so"], input=SLOW_CLOSE, text=True, check=True)
    over = threading.Event()

    def come_and_go():
        while not over.is_set():
            subprocess.run(["dd", f"if={loop.path}", "of=/dev/null", "bs=4k", "count=1", "iflag=direct", "status=none"])

    thread = threading.Thread(target=come_and_go)
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "slow.so"))
    b = Blklat(interval=0.05, args=["--dev", f"{loop.name}*", "--by", "process"])
    monkeypatch.delenv("LD_PRELOAD")
    with b:
        thread.start()
        try:
            with devices.partition(loop, 1, loop.size // 4, loop.size // 4):
                b.until(lambda: "another capture was opened" in b.stderr, "another capture")
                b.next(loop, n=40)
        finally:
            over.set()
            thread.join()
