# SPDX-License-Identifier: GPL-2.0-only
"""Builds recorded machines: small trees as sysfs has them, links and all, from compact tables."""
import os

GIB = 2 ** 30


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else str(text).encode())


class Tree:
    """The tree of one machine. disk() and partition() take what sysfs shows of a device."""

    def __init__(self, root):
        self.root = root
        self.homes = {}
        (root / "sys/block").mkdir(parents=True)

    def _device(self, home, name, dev, size, hidden=0):
        self.homes[name] = home
        if dev is not None:
            write(home / "dev", dev + "\n")
        write(home / "size", f"{size // 512}\n")
        write(home / "hidden", f"{hidden}\n")
        write(home / "stat", " 10 0 80 3 20 0 160 4 0 5 6 30 0 240 7 40 8\n")

    def disk(self, name, dev, size, queues=0, tags=0, scheduler=None, requests=None, on=(), files=None,
             hidden=0, iostats=1, shared_tags=False, link=True, at="virtual"):
        """@files: more of them, path below the device's directory to content. @shared_tags: of all hardware queues, as debugfs says.
        @at: where it is plugged in."""
        home = self.root / (f"sys/devices/{at}/block" if link else "sys/block") / name
        self._device(home, name, dev, size, hidden)
        write(home / "queue/iostats", f"{iostats}\n")
        write(home / "queue/scheduler", (scheduler or "none") + "\n")
        if requests is not None:
            write(home / "queue/nr_requests", f"{requests}\n")
        for q in range(queues):
            write(home / f"mq/{q}/nr_tags", f"{tags}\n")
            (home / f"mq/{q}/cpu{q}").mkdir()
        if shared_tags:
            write(self.root / "sys/kernel/debug/block" / name / "hctx0/flags", "alloc_policy=FIFO SHOULD_MERGE|TAG_HCTX_SHARED\n")
        (home / "slaves").mkdir()
        for lower in on:
            os.symlink(os.path.relpath(self.homes[lower], home / "slaves"), home / "slaves" / lower)
        for path, text in (files or {}).items():
            write(home / path, text)
        if link:
            os.symlink(f"../devices/{at}/block/{name}", self.root / "sys/block" / name)
        return self

    def partition(self, disk, name, dev, size, number):
        home = self.homes[disk] / name
        self._device(home, name, dev, size)
        write(home / "partition", f"{number}\n")
        return self

    def dev_link(self, path, target):
        link = self.root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, link)
        return self


def laptop(root):
    t = Tree(root)
    t.disk("nvme0n1", "259:0", 512110190592, queues=8, tags=1023, requests=1023, scheduler="[none] mq-deadline",
           files={"device/model": "Samsung SSD 980 PRO 500GB               \n"})
    for n, size in ((1, 536870912), (2, 500 * GIB // 2), (10, GIB)):
        t.partition("nvme0n1", f"nvme0n1p{n}", f"259:{n}", size, n)
    for n in range(3):
        t.disk(f"loop{n}", f"7:{n}", 0, queues=1, tags=128, requests=128, scheduler="[none] mq-deadline")
    return t


def server(root):
    """Two disks, their second partitions mirrored, encrypted, with two volumes on it."""
    t = Tree(root)
    for letter, minor in (("a", 0), ("b", 16)):
        t.disk(f"sd{letter}", f"8:{minor}", 4000787030016, queues=1, tags=32, requests=64,
               scheduler="none [mq-deadline] bfq", at=f"pci0000:00/0000:00:1f.2/ata{minor}/host0/target0:0:0/0:0:0:0",
               files={"device/model": "ST4000NM0035-1V4\n", "device/serial": f"ZC1{letter.upper()}0H2F\n",
                      "device/wwid": f"naa.5000c500a1b2c3d{letter}\n", "device/rev": "TN05\n"})
        for n in (1, 2):
            t.partition(f"sd{letter}", f"sd{letter}{n}", f"8:{minor + n}", n * GIB, n)
    t.disk("md0", "9:0", 2 * GIB, on=("sda2", "sdb2"), files={"md/level": "raid1\n"})
    t.disk("dm-0", "253:0", 2 * GIB, on=("md0",), files={"dm/name": "crypt_md0\n"})
    t.disk("dm-1", "253:1", GIB, on=("dm-0",), files={"dm/name": "vg0-root\n"})
    t.disk("dm-10", "253:10", 0, on=("dm-0",), files={"dm/name": "vg0-empty\n"})
    t.disk("dm-2", "253:2", 3 * GIB // 2, on=("dm-0",), files={"dm/name": "vg0-a--long--volume--name\n"})
    t.dev_link("/dev/vg0/root", "../dm-1")
    t.dev_link("/dev/disk/by-id/ata-ST4000NM0035-1V4-part2", "../../sda2")
    return t


def multipath(root):
    t = Tree(root)
    model = {"device/model": "Dell Ent NVMe CM6\n"}
    for c in (0, 1):
        t.disk(f"nvme0c{c}n1", None, 0, queues=4, tags=127, requests=127, scheduler="[none]", hidden=1, files=model)
    t.disk("nvme0n1", "259:2", 1600321314816, files=model)
    return t


def odd(root):
    t = Tree(root)
    t.disk("cciss!c0d0", "104:0", 146815733760, queues=1, tags=1024, requests=512,
           scheduler="[mq-deadline] none", link=False)
    t.partition("cciss!c0d0", "cciss!c0d0p1", "104:1", GIB, 1)
    t.disk("dm-0", "253:0", GIB, on=("cciss!c0d0p1",), files={"dm/name": '"><script>\n'})
    t.disk("loop3", "7:3", 10 * 2 ** 20, queues=1, tags=128, requests=128, scheduler="[none]",
           files={"loop/backing_file": "/var/lib/libvirt/images/customers/zürich/very-long-name.img\n"})
    t.disk("sr0", "11:0", 1073741312, queues=1, tags=1, requests=2, scheduler="[mq-deadline]",
           files={"device/model": b"DVD\x1b[31m \xff\xfeROM\n"})
    t.disk("zram0", "252:0", 4 * GIB, iostats=0)
    return t
