# SPDX-License-Identifier: GPL-2.0-only
"""blklat check: facts of recorded machines; the engines are those of the machine that runs this."""
import json
import os
import re

import pytest
from attacks import run
from command import bad, usable

import sysfs_tree
from sysfs_tree import write


def facts(root, *args):
    r = run("check", "--sysroot", root, "--format", "json", *args)
    assert r.stdout.count("\n") == 1
    whole = json.loads(r.stdout)
    assert whole["schema"] == 1
    assert r.returncode == (0 if any(e["usable"] for e in whole["engines"]) else 1)
    assert (r.stderr == "") == (r.returncode == 0)
    return whole


def machine(root, release="6.1.0-23-amd64", caps=0, cpus="0-3", locked="8388608", lockdown=None, btf=True):
    write(root / "proc/sys/kernel/osrelease", release + "\n")
    write(root / "sys/devices/system/cpu/possible", cpus + "\n")
    write(root / "proc/self/status", f"Name:\tblklat\nCapPrm:\t000001ffffffffff\nCapEff:\t{caps:016x}\n")
    write(root / "proc/self/limits", "Limit                     Soft Limit           Hard Limit  Units\n"
          f"Max locked memory         {locked:<20} 1           bytes\n")
    if lockdown:
        write(root / "sys/kernel/security/lockdown", lockdown + "\n")
    if btf:
        write(root / "sys/kernel/btf/vmlinux", "")


@pytest.mark.parametrize("caps, has", [
    (0, []), (1 << 39, ["CAP_BPF"]), (1 << 38, ["CAP_PERFMON"]), (1 << 21, ["CAP_SYS_ADMIN"]),
    (0x1ffffffffff, ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN"]),
])
def test_capabilities(tmp_path, caps, has):
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path, caps=caps)
    assert [c for c, there in facts(tmp_path)["capabilities"].items() if there] == has
    enough = "CAP_SYS_ADMIN" in has or len(has) > 1
    assert ("are needed" in run("check", "--sysroot", tmp_path).stdout) == (not enough)


@pytest.mark.parametrize("cpus, n", [("0", 1), ("0-3", 4), ("0-1,4-5,7", 8), ("0-3,8", 9), ("0-255", 256)])
def test_cpus(tmp_path, cpus, n):
    """Counters are found by a CPU's number, so those of numbers without a CPU need room, too."""
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path, cpus=cpus)
    assert facts(tmp_path)["cpus"] == n


@pytest.mark.parametrize("there, word", [
    ("[none] integrity confidentiality", "none"), ("none [integrity] confidentiality", "integrity"),
    ("none integrity [confidentiality]", "confidentiality"), (None, None),
])
def test_lockdown(tmp_path, there, word):
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path, lockdown=there)
    assert facts(tmp_path)["lockdown"] == word
    assert ("may not read" in run("check", "--sysroot", tmp_path).stdout) == (word == "confidentiality")


def test_kernel_and_btf(tmp_path):
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path, btf=False)
    f = facts(tmp_path)
    assert (f["kernel"], f["btf"]) == ("6.1.0-23-amd64", False)
    assert "missing: use engine kmod, which needs none, or a kernel built with CONFIG_DEBUG_INFO_BTF" in " ".join(run("check", "--sysroot", tmp_path).stdout.split())
    write(tmp_path / "sys/kernel/btf/vmlinux", "")
    assert facts(tmp_path)["btf"] is True


@pytest.mark.parametrize("release, locked, counts, size", [
    ("5.10.0-30-amd64", "65536", True, 65536), ("5.11.0", "8388608", False, 8388608),
    ("6.1.0", "unlimited", False, None),
])
def test_locked_memory(tmp_path, release, locked, counts, size):
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path, release=release, locked=locked)
    assert facts(tmp_path)["locked_memory_bytes"] == size
    assert ("BPF maps count" in run("check", "--sysroot", tmp_path).stdout) == counts


def test_engines(tmp_path):
    sysfs_tree.laptop(tmp_path)
    engines = facts(tmp_path)["engines"]
    assert "bpf" in [e["name"] for e in engines]
    for e in engines:
        assert e["about"]
        assert (e["problem"] is None) == e["usable"]


def series_bytes():
    """A histogram by abi.h: eight words and the bins, 33 octaves of 64 and 2, in whole cache lines."""
    return (8 + 33 * 64 + 2 + 7) // 8 * 64


def test_memory_of_runs(tmp_path):
    sysfs_tree.server(tmp_path)
    machine(tmp_path, cpus="0-7")
    f = facts(tmp_path)
    runs = {r["device"]: r for r in f["runs"]}
    assert list(runs) == ["dm-0", "dm-1", "dm-2", "md0", "sda", "sdb"]
    assert (runs["sda"]["stages"], runs["md0"]["stages"]) == (["device"], ["total"])
    for r in runs.values():
        assert r["scale"] == 6
        # Five for all, and five more for each of the eight CPUs.
        assert 5 * series_bytes() <= r["fixed_bytes"] == r["memory_bytes"] - 40 * series_bytes() * len(r["stages"])
        assert r["memory_bytes"] < f["memory_limit_bytes"]
    # With 'all' there is room for others. One table of bios serves all watches, so the total is less than the sum.
    assert max(r["memory_bytes"] for r in runs.values()) < f["together"]["memory_bytes"]
    two = [runs[name]["memory_bytes"] for name in ("dm-0", "dm-1")]
    assert max(two) < facts(tmp_path, "dm-0", "dm-1")["together"]["memory_bytes"] < sum(two)


def test_identity(tmp_path):
    tree = sysfs_tree.Tree(tmp_path)
    tree.disk("sda", "8:0", sysfs_tree.GIB, queues=1, tags=32, files={
        "device/model": "ST4000NM0035\n", "device/serial": "ZC1A\n", "device/wwid": "naa.5000c500\n", "device/rev": "SN04\n"})
    tree.disk("dm-0", "253:0", sysfs_tree.GIB, on=("sda",), files={"dm/uuid": "LVM-8fX\n"})
    machine(tmp_path)
    assert {r["device"]: r.get("identity") for r in facts(tmp_path)["runs"]} == {
        "sda": {"serial": "ZC1A", "wwid": "naa.5000c500", "firmware": "SN04"}, "dm-0": {"wwid": "LVM-8fX"}}
    rows = {line.split()[0]: line.split() for line in run("check", "--sysroot", tmp_path).stdout.splitlines() if line}
    assert (rows["sda"][-2:], rows["dm-0"][-1]) == (["ST4000NM0035", "ZC1A"], "LVM-8fX")


def test_members_named_with_their_array(tmp_path):
    """Also through layers, a pattern, a partition and its disk; not by 'all', nor where stages are chosen."""
    sysfs_tree.server(tmp_path)
    machine(tmp_path)

    def stages(*names):
        return {r["device"]: r["stages"] for r in facts(tmp_path, *names)["runs"]}

    both = ["device", "total"]
    assert stages("md0", "sda", "sdb") == {"md0": ["total"], "sda": both, "sdb": both}
    assert stages("sd[ab]", "dm-1") == {"sda": both, "sdb": both, "dm-1": ["total"]}
    assert stages("sda", "all", "md0")["sda"] == both and stages("sda", "all", "md0")["sdb"] == ["device"]
    for alone in (("sda", "sdb"), ("all",), ("*",), ("all", "md0"), ("--stage", "device", "sda")):
        assert stages(*alone)["sda"] == ["device"], alone
    assert stages("md0", "sda2", "sdb") == stages("md0,sda2", "sdb") == {"md0": ["total"], "sda2": both, "sdb": both}


def test_limit_too_small_for_any(tmp_path):
    sysfs_tree.laptop(tmp_path)
    machine(tmp_path)
    (r,) = facts(tmp_path, "--max-memory", "1K", "nvme0n1")["runs"]
    assert r["scale"] is None and r["memory_bytes"] == r["fixed_bytes"] > 1024
    assert "too much" in run("check", "--sysroot", tmp_path, "--max-memory", "1K").stdout


@pytest.mark.parametrize("name, found", [
    ("vg0-root", "dm-1"), ("/dev/mapper/vg0-root", "dm-1"), ("/dev/vg0/root", "dm-1"),
    ("/dev/disk/by-id/ata-ST4000NM0035-1V4-part2", "sda2"), ("/dev/md0", "md0"),
])
def test_stacked_devices_by_name(tmp_path, name, found):
    sysfs_tree.server(tmp_path)
    assert [r["device"] for r in facts(tmp_path, name)["runs"]] == [found]


def test_odd_names_are_found(tmp_path):
    sysfs_tree.odd(tmp_path)
    for name, found in (("cciss/c0d0", "cciss/c0d0"), ("/dev/cciss/c0d0p1", "cciss/c0d0p1"), ('"><script>', "dm-0")):
        assert [r["device"] for r in facts(tmp_path, name)["runs"]] == [found]


def test_stages(tmp_path):
    sysfs_tree.laptop(tmp_path)
    f = facts(tmp_path, "--stage", "queue,device,queue", "nvme0n1")
    assert [r["stages"] for r in f["runs"]] == [["device", "queue"]]


def test_machine_without_disks(tmp_path):
    sysfs_tree.Tree(tmp_path)
    f = facts(tmp_path)
    assert (f["runs"], f["together"]) == ([], None)
    assert "no block device" in run("check", "--sysroot", tmp_path).stdout


@pytest.mark.parametrize("build", [sysfs_tree.laptop, sysfs_tree.server, sysfs_tree.odd])
def test_text_fits_80_columns(tmp_path, build):
    build(tmp_path)
    machine(tmp_path, lockdown="none integrity [confidentiality]", btf=False, release="5.10.0-30-amd64")
    out = run("check", "--sysroot", tmp_path).stdout
    assert max(map(len, out.splitlines())) <= 80
    assert "DEVICE" in out and "engine bpf" in out


@pytest.mark.parametrize("args, says", [
    (["--stage", "device,total", "sda", "dm-1"], "--stage 'device': not available on 'dm-1', which has total"),
    (["--stage", "device,queue", "dm-1"], "--stage 'device,queue': not available on 'dm-1', which has total"),
    (["vg0-rot"], "did you mean 'vg0-root'?"),
    (["sda", "dm-10"], "'dm-10' has no size"),
    (["/dev/dm-10"], "dm-10' has no size"),
])
def test_wrong_devices(tmp_path, args, says):
    sysfs_tree.server(tmp_path)
    machine(tmp_path)
    bad(re.escape(says), "check", "--sysroot", tmp_path, *args)


def test_device_node_of_this_machine(tmp_path):
    disk = usable()
    if not os.path.exists(f"/dev/{disk}"):
        pytest.skip(f"{disk} has no node here")
    (tmp_path / "a link").symlink_to(f"/dev/{disk}")
    r = run("check", "--format", "json", tmp_path / "a link")
    assert [x["device"] for x in json.loads(r.stdout)["runs"]] == [disk]


@pytest.mark.parametrize("enabled", ["", "cpu memory", "cpu io"])
def test_cgroups_that_are_not_charged(tmp_path, enabled):
    """Where only the root cgroup has the controller, all IO is charged to it: --by cgroup says so, and what to do."""
    sysfs_tree.server(tmp_path)
    machine(tmp_path)
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
    write(tmp_path / "sys/fs/cgroup/cgroup.subtree_control", enabled + "\n")
    told = "blklat: IO is not charged to cgroups below the root, so all of it will be under '/': write +io to " \
           f"{tmp_path}/sys/fs/cgroup/cgroup.subtree_control, and to the same file of each cgroup whose children are to be shown separately\n"
    assert (told in run("check", "--sysroot", tmp_path, "--by", "cgroup", "sda").stderr) == ("io" not in enabled)
    assert told not in run("check", "--sysroot", tmp_path, "sda").stderr
