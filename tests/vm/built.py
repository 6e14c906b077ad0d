# SPDX-License-Identifier: GPL-2.0-only
"""
A kernel that Debian has no package of, built here from Debian's source by another kernel's configuration, with changes.

Left out is what no guest has: drivers of real machines, and every module that no test uses. It takes minutes, once.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess

from architectures import TOOLS
from cache import APT, CACHE, fetch_programs, program, read_stamp, run_in, write_stamp
from kernel import Kernel
from packages import Failure, Staged, unpack_source

PAHOLE = CACHE / "pahole"
# What the guest's machine and the tests load, by the names of Kconfig.
MODULES = (
    "NET_9P", "NET_9P_VIRTIO", "9P_FS", "OVERLAY_FS", "EXT4_FS", "CONFIGFS_FS", "CRYPTO_CRC32C", "MQ_IOSCHED_KYBER", "IOSCHED_BFQ",
    "BLK_DEV_NULL_BLK", "BLK_DEV_LOOP", "BLK_DEV_RAM", "ZRAM", "VIRTIO_BLK", "BLK_DEV_NVME", "NVME_TARGET", "NVME_TARGET_LOOP",
    "SCSI", "BLK_DEV_SD", "SCSI_DEBUG", "BLK_DEV_MD", "MD_RAID0", "MD_RAID1", "BLK_DEV_DM", "DM_DELAY", "DM_ZERO",
)
# Parts that no guest uses; what depends on them goes with them.
LEFT_OUT = (
    "ACPI", "BT", "CAN", "COMPAT", "CPU_FREQ", "CPU_IDLE", "CRYPTO_HW", "DMADEVICES", "DRM", "EDAC", "EFI", "ETHERNET", "FB",
    "GPIOLIB", "HIBERNATION", "HID", "HWMON", "I2C", "IIO", "INFINIBAND", "INTEGRITY", "IOMMU_SUPPORT", "IPV6", "KEXEC",
    "KEXEC_FILE", "LEDS_CLASS", "MAILBOX", "MEDIA_SUPPORT", "MMC", "MODULE_SIG", "MTD", "NETFILTER", "NET_SCHED", "PHYLIB", "PINCTRL",
    "POWER_SUPPLY", "REGULATOR", "RTC_CLASS", "SECURITY_APPARMOR", "SECURITY_LOCKDOWN_LSM", "SECURITY_SELINUX", "SECURITY_TOMOYO",
    "SERIO", "SOUND", "SPI", "STAGING", "SUSPEND", "TEE", "THERMAL", "USB_SUPPORT", "VIRTUALIZATION", "VT", "WATCHDOG", "WIRELESS",
    "WLAN", "XEN",
)
# Of the tree, what it takes to build a module.
KEPT = ".config", "Makefile", "Module.symvers", "include", "scripts", "arch/{arch}/Makefile", "arch/{arch}/include"


class Built(Kernel):
    """A kernel like base, with changes: a value of "y" or "n" for names of Kconfig. The flavour is said as Debian would."""

    def __init__(self, base, flavour, changes, memory):
        super().__init__(base.series, base.suites, arch=base.arch, flavour=flavour)
        self.base = base
        self.changes = changes
        self.memory = memory

    def fetch(self, update):
        recipe = hashlib.sha256(json.dumps([MODULES, LEFT_OUT, self.changes]).encode()).hexdigest()[:16]
        stamp = read_stamp(self.folder)
        if stamp.get("recipe") == recipe and not update:
            return
        self.base.fetch(update)
        APT.update()
        package = f"linux-source-{self.series}"
        _, version = APT.newest(package, re.escape(package), self.suites) or (None, None)
        if not version:
            raise Failure(f"kernel {self.name}: no {package} in {' or '.join(self.suites)}")
        if (stamp.get("version"), stamp.get("recipe")) == (version, recipe):
            return
        if not read_stamp(PAHOLE):
            fetch_programs(PAHOLE, APT.with_libraries("pahole"))
        print(f"kernel {self.name}: building {package} {version}, for minutes", flush=True)
        with Staged(self.folder) as scratch:
            tree = scratch / "tree"
            self._unpack(package, scratch, tree)
            self._configure(tree)
            self._make(tree, "Image", "modules")
            self._make(tree, "modules_install", f"INSTALL_MOD_PATH={scratch}", "INSTALL_MOD_STRIP=1", "DEPMOD=true")
            release = (tree / "include/config/kernel.release").read_text().strip()
            run_in(TOOLS, "depmod", "-b", scratch, release)
            self._keep(tree, scratch, release)
            write_stamp(scratch, release=release, version=version, recipe=recipe)

    @staticmethod
    def _unpack(package, scratch, tree):
        with APT.downloaded([package]) as (deb,):
            tree.mkdir()
            unpack_source(deb, tree)

    def _make(self, tree, *targets):
        pahole, env = program(PAHOLE, "pahole")  # for BTF
        # The variables of a make that runs this are not for the kernel's make.
        env = {k: v for k, v in env.items() if not k.startswith("MAKE") and k not in ("O", "V")}
        argv = ["make", "-s", "-C", tree, f"-j{os.cpu_count()}", *self.arch.make, f"PAHOLE={pahole}", *targets]
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(done.stdout)
            raise Failure(f"kernel {self.name}: make {targets[0]} failed, see above")

    def _configure(self, tree):
        """Debian's configuration with nothing as a module but what is used."""
        known = (self.base.folder / f"boot/config-{self.base.release}").read_text().splitlines()
        machines = re.findall(r"^config (ARCH_\w+)", (tree / f"arch/{self.arch.name}/Kconfig.platforms").read_text(), re.M)
        wanted = dict.fromkeys(MODULES, "m") | {"DEBUG_INFO_BTF": "y"} | self.changes
        changes = dict.fromkeys([*LEFT_OUT, *machines, "LOCALVERSION_AUTO"], "n") | {"LOCALVERSION": f'"-{self.flavour}"'} | wanted
        lines = [line for line in known if not line.endswith("=m")] + [f"CONFIG_{k}={v}" for k, v in changes.items()]
        (tree / ".config").write_text("\n".join(lines) + "\n")
        self._make(tree, "olddefconfig")
        # Kconfig says nothing of a symbol that it drops, because one that it depends on is off.
        found = dict(re.findall(r"^CONFIG_(\w+)=(\w)$", (tree / ".config").read_text(), re.M))
        other = [name for name, value in wanted.items() if found.get(name, "n") not in (value, "y" if value == "m" else value)]
        if other:
            raise Failure(f"kernel {self.name}: its configuration has another {', '.join(other)}")

    def _keep(self, tree, scratch, release):
        shutil.move(tree / f"arch/{self.arch.name}/boot/Image", scratch / "vmlinuz")
        for link in ("build", "source"):
            (scratch / "lib/modules" / release / link).unlink(missing_ok=True)
        for name in (kept.format(arch=self.arch.name) for kept in KEPT):
            (scratch / "build" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(tree / name, scratch / "build" / name)
        shutil.rmtree(tree)
