# SPDX-License-Identifier: GPL-2.0-only
"""blklat list on recorded machines."""
import json
import os
import random
import shutil
import subprocess

import pytest
from asked import BLKLAT, values
from attacks import run

import sysfs_tree
from sysfs_tree import GIB

STAGES = values("live", "--stage")
PLAIN = os.environ.get("BLKLAT_PLAIN", BLKLAT)


def devices(root):
    r = run("list", "--sysroot", root, "--format", "json")
    assert (r.returncode, r.stderr) == (0, "")
    assert r.stdout.count("\n") == 1
    whole = json.loads(r.stdout)
    assert whole["schema"] == 1
    return whole["devices"]


def by_name(root):
    return {d["name"]: d for d in devices(root)}


def text(root, *args):
    r = run("list", "--sysroot", root, *args)
    assert (r.returncode, r.stderr) == (0, "")
    assert max(map(len, r.stdout.splitlines())) <= 80
    return r.stdout


def test_laptop_text(tmp_path):
    sysfs_tree.laptop(tmp_path)
    assert text(tmp_path) == """\
NAME          KIND     SIZE  MODEL                 SCHEDULER  QUEUES  STAGES  ON
nvme0n1       nvme   512 GB  Samsung SSD 980 PRO~  none            8  all
  nvme0n1p1   part   537 MB                                           all
  nvme0n1p2   part   268 GB                                           all
  nvme0n1p10  part  1.07 GB                                           all
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
def test_one_hardware_queue_is_asked(tmp_path):
    """All have as many tags, and a large host has thousands of queues."""
    disks = sysfs_tree.laptop(tmp_path).homes.values()
    traced = subprocess.run(["strace", "-e", "trace=openat", PLAIN, "list", "--sysroot", tmp_path], capture_output=True, text=True)
    assert traced.stderr.count('nr_tags"') == sum((home / "mq").exists() for home in disks) > 0


def test_all_shows_what_has_no_size(tmp_path):
    sysfs_tree.laptop(tmp_path)
    names = [line.split()[0] for line in text(tmp_path, "--all").splitlines()[1:]]
    assert names == ["loop0", "loop1", "loop2", "nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme0n1p10"]


def test_server_text(tmp_path):
    sysfs_tree.server(tmp_path)
    assert text(tmp_path) == """\
NAME    KIND     SIZE  MODEL              SCHEDULER    QUEUES  STAGES  ON
dm-0    dm    2.15 GB  crypt_md0          -                 0  total   md0
dm-1    dm    1.07 GB  vg0-root           -                 0  total   dm-0
dm-2    dm    1.61 GB  vg0-a--long--vol~  -                 0  total   dm-0
md0     md    2.15 GB  raid1              -                 0  total   sda2,sdb2
sda     disk  4.00 TB  ST4000NM0035-1V4   mq-deadline       1  all
  sda1  part  1.07 GB                                          all
  sda2  part  2.15 GB                                          all
sdb     disk  4.00 TB  ST4000NM0035-1V4   mq-deadline       1  all
  sdb1  part  1.07 GB                                          all
  sdb2  part  2.15 GB                                          all
"""


def test_odd_text(tmp_path):
    sysfs_tree.odd(tmp_path)
    assert text(tmp_path) == """\
NAME            KIND     SIZE  MODEL      SCHEDULER    QUEUES  STAGES  ON
cciss/c0d0      disk   147 GB             mq-deadline       1  all
  cciss/c0d0p1  part  1.07 GB                                  all
dm-0            dm    1.07 GB  "><scrip~  -                 0  total   cciss/c0~
loop3           loop  10.5 MB  very-lon~  none              1  all
sr0             rom   1.07 GB  DVD?[31m~  mq-deadline       1  all
zram0           zram  4.29 GB             -                 0  total
"""


LIMITS = {
    "cgroup.controllers": "cpu io memory\n",
    "io.max": "8:0 rbps=1 wbps=max riops=max wiops=max\n",
    "system.slice/backup.service/io.max": "8:16 rbps=max wbps=max riops=max wiops=120\n8:0 rbps=2097152 wbps=max riops=max wiops=120\n",
    "system.slice/io.max": "8:0 rbps=max wbps=max riops=max wiops=max\n259:99 rbps=5 wbps=5 riops=5 wiops=5\n",
    "user.slice/odd\tname/io.max": "8:16 riops=7\nnonsense\n8: x\n\n8:16\n",
    "empty.slice/io.max": "",
}
FOUND = {
    "sda": [{"cgroup": "/", "io_max": "rbps=1"}, {"cgroup": "/system.slice/backup.service", "io_max": "rbps=2097152 wiops=120"}],
    "sdb": [{"cgroup": "/system.slice/backup.service", "io_max": "wiops=120"}, {"cgroup": "/user.slice/odd?name", "io_max": "riops=7"}],
}


@pytest.mark.parametrize("at", ["sys/fs/cgroup", "sys/fs/cgroup/unified"])
def test_limits_of_cgroups(tmp_path, at):
    """Version 2 alone, or beside hierarchies of version 1, which have other files."""
    sysfs_tree.server(tmp_path)
    for path, text_ in LIMITS.items():
        sysfs_tree.write(tmp_path / at / path, text_)
    d = by_name(tmp_path)
    assert {name: d[name]["limits"] for name in d if d[name]["limits"]} == FOUND
    last = text(tmp_path).split("\n\n")[-1].splitlines()
    assert " ".join(line.strip() for line in last).replace("at all sd", "at all\nsd").splitlines() == [
        f"{name}: cgroup {l['cgroup']} has io.max {l['io_max']}; waits for this limit show only in stage total, if at all" for name in FOUND for l in FOUND[name]]


def test_limits_of_version_1(tmp_path):
    """A file for each limit, in their own hierarchy; in the words of version 2."""
    sysfs_tree.server(tmp_path)
    at = tmp_path / "sys/fs/cgroup/blkio/backup.service"
    for name, lines in {"read_bps": "8:0 2097152\n8:16 5\n", "write_bps": "8:0 1048576\n", "read_iops": "", "write_iops": "8:0 120\nrubbish\n9:99 7\n"}.items():
        sysfs_tree.write(at / f"blkio.throttle.{name}_device", lines)
    d = by_name(tmp_path)
    assert {name: d[name]["limits"] for name in d if d[name]["limits"]} == {
        "sda": [{"cgroup": "/backup.service", "io_max": "rbps=2097152 wbps=1048576 wiops=120"}], "sdb": [{"cgroup": "/backup.service", "io_max": "rbps=5"}]}
    assert "sdb: cgroup /backup.service has blkio.throttle rbps=5; waits for" in " ".join(text(tmp_path).split())


def test_laptop_facts(tmp_path):
    sysfs_tree.laptop(tmp_path)
    d = by_name(tmp_path)
    assert d["nvme0n1"] == {
        "name": "nvme0n1", "kind": "nvme", "model": "Samsung SSD 980 PRO 500GB", "mapper": None,
        "major": 259, "minor": 0, "size_bytes": 512110190592, "disk": None, "on": [],
        "scheduler": "none", "hw_queues": 8, "tags": 1023, "nr_requests": 1023, "iostats": True,
        "hidden": False, "stages": STAGES, "limits": []}
    assert d["nvme0n1p10"] == dict(d["nvme0n1"], name="nvme0n1p10", kind="partition", minor=10,
                                   size_bytes=GIB, disk="nvme0n1")
    assert d["loop2"]["size_bytes"] == 0


def test_multipath(tmp_path):
    sysfs_tree.multipath(tmp_path)
    d = by_name(tmp_path)
    assert (d["nvme0n1"]["hw_queues"], d["nvme0n1"]["stages"]) == (0, ["total"])
    path = d["nvme0c1n1"]
    assert (path["hidden"], path["major"], path["hw_queues"], path["tags"]) == (True, None, 4, 127)
    assert "nvme0c0n1" not in text(tmp_path)
    assert "nvme0c0n1  path" in text(tmp_path, "--all")


def test_odd_names(tmp_path):
    sysfs_tree.odd(tmp_path)
    d = by_name(tmp_path)
    assert (d["cciss/c0d0p1"]["disk"], d["dm-0"]["mapper"], d["dm-0"]["on"]) == ("cciss/c0d0", '"><script>', ["cciss/c0d0p1"])
    assert d["loop3"]["model"] == ".../images/customers/zürich/very-long-name.img"
    assert d["sr0"]["model"] == "DVD?[31m ??ROM"
    assert (d["zram0"]["iostats"], d["zram0"]["stages"]) == (False, ["total"])


def test_empty_machine(tmp_path):
    sysfs_tree.Tree(tmp_path)
    assert devices(tmp_path) == []
    assert text(tmp_path).splitlines() == ["NAME  KIND  SIZE  MODEL  SCHEDULER  QUEUES  STAGES  ON"]


def test_device_that_vanishes_is_left_out(tmp_path):
    t = sysfs_tree.laptop(tmp_path)
    (t.homes["loop1"] / "dev").unlink()
    (tmp_path / "sys/block/gone").symlink_to("../devices/gone")
    assert [n for n in by_name(tmp_path) if not n.startswith("nvme")] == ["loop0", "loop2"]


def test_missing_files_are_unknown_facts(tmp_path):
    home = tmp_path / "sys/block/sda"
    home.mkdir(parents=True)
    (home / "dev").write_text("8:0\n")
    (d,) = devices(tmp_path)
    assert (d["size_bytes"], d["model"], d["hw_queues"], d["iostats"]) == (0, None, 0, False)


@pytest.mark.parametrize("size", ["", "-1", "abc", "18446744073709551616", "36028797018963969", "1 2"])
def test_odd_sizes_are_zero(tmp_path, size):
    t = sysfs_tree.laptop(tmp_path)
    (t.homes["nvme0n1"] / "size").write_text(size)
    assert by_name(tmp_path)["nvme0n1"]["size_bytes"] == 0


def test_any_rubbish_still_gives_json(tmp_path):
    """Every file of a disk, a partition and stacked devices in turn becomes random bytes, a directory, a fifo, a loop of links."""
    alike = {"sdb", "sda2", "dm-1", "dm-2", "dm-10"}  # those that have the same files as another
    rng = random.Random(7)
    t = sysfs_tree.server(tmp_path)
    sysfs_tree.write(t.homes["sda"] / "mq/0/nr_tags", "32\n")
    for path in sorted(p for p in (tmp_path / "sys/devices").rglob("*") if p.is_file() and not alike & set(p.parts)):
        kept = path.read_bytes()
        for make in (lambda: path.write_bytes(rng.randbytes(rng.choice([0, 1, 63, 64, 300, 9000]))),
                     path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to(path.name)):
            path.unlink(missing_ok=True)
            make()
            devices(tmp_path)
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(kept)


def test_more_lower_devices_than_are_kept(tmp_path):
    t = sysfs_tree.Tree(tmp_path)
    names = [f"sd{chr(97 + i // 10)}{i % 10}x" for i in range(40)]
    for i, name in enumerate(names):
        t.disk(name, f"8:{i}", GIB, queues=1, tags=1)
    t.disk("md1", "9:1", GIB, on=names)
    on = by_name(tmp_path)["md1"]["on"]
    assert len(on) == 32 and set(on) < set(names)
    text(tmp_path)
