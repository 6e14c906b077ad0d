# SPDX-License-Identifier: GPL-2.0-only
"""
What depends on a guest's architecture: the emulator and its machine, the root, and where packages come from.

A guest of this machine's architecture sees this machine's root. Any other sees a Debian 12 unpacked in the cache, with
what the tests use; its maintainer scripts never ran. The tree and the build folder have the same paths in both.
"""
import contextlib
import dataclasses
import os
import pathlib

import stand_ins
import tsc
from cache import APT, CACHE, fetch_programs, keyed, library_path, program, read_stamp, run_in, write_stamp
from packages import HOST, Apt, Failure, Staged, bootstrap

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = (TREE / os.environ.get("O", "build")).resolve()
TOOLS = CACHE / "tools"
# Named with their libraries, since installing mdadm would bring in udev.
TOOL_PACKAGES = ("busybox-static", "kmod", "libkmod2", "mdadm", "nvme-cli", "libnvme1", "dmsetup",
                 "libdevmapper1.02.1")
KMOD_NAMES = ("depmod", "insmod", "lsmod", "modinfo", "modprobe", "rmmod")
# For a root that is not this machine's: a shell and its tools, what tests run, and blklat's libraries.
ROOT_PACKAGES = (
    "base-files", "bash", "busybox-static", "coreutils", "dash", "dmsetup", "e2fsprogs", "findutils", "fio", "grep", "kmod",
    "libbpf1", "libcap-ng0", "libcrypt1", "libcurl3-gnutls", "libelf1", "libgnutls30", "libjson-c5", "libmicrohttpd12", "libncursesw6",
    "libseccomp2", "libsqlite3-0", "libyaml-0-2", "mdadm", "mount", "nvme-cli", "procps", "python3",
    "python3-pytest", "sed", "sqlite3", "util-linux")
MERGED_USR = 'mkdir -p "$1/usr/bin" "$1/usr/sbin" "$1/usr/lib"; for d in bin sbin lib; do ln -s usr/$d "$1/$d"; done'
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class Architecture:
    name: str  # as Debian has it
    emulator: str
    emulator_packages: tuple
    machine: tuple  # QEMU's options
    append: str  # to the kernel's command line
    native: bool = False
    cross: str = ""  # prefix of its compiler's programs

    @property
    def make(self):
        """Variables that make a Makefile, ours or the kernel's, build for it here."""
        return () if self.native else (f"ARCH={self.name}", f"CROSS_COMPILE={self.cross}")

    # --- this machine's part ---

    @property
    def qemu(self):
        return CACHE / ("qemu" if self.native else f"qemu-{self.name}")

    def fetch_emulator(self, update):
        """Returns its version."""
        if read_stamp(self.qemu) and not update:
            with contextlib.suppress(Failure):  # a library may have been removed from the machine since
                return self._emulator_version()
        APT.update()
        # An installed emulator of processes would be upgraded along with it.
        names = [n for n in APT.with_libraries(*self.emulator_packages) if not n.startswith("qemu-user")]
        fetch_programs(self.qemu, names)
        return self._emulator_version()

    def _emulator_version(self):
        return run_in(self.qemu, self.emulator, "--version").splitlines()[0]

    # --- the guest's ---

    @property
    def apt(self):
        """Where its kernels come from."""
        return APT if self.native else FOREIGN_APT[self.name]

    @property
    def root(self):
        return pathlib.Path("/") if self.native else keyed(CACHE, f"root-{self.name}", ROOT_PACKAGES)

    @property
    def busybox(self):
        return program(TOOLS if self.native else self.root, "busybox")[0]

    @property
    def blklat(self):
        """The program that its guests run."""
        return pathlib.Path(os.environ.get("BLKLAT", BUILD / "blklat")) if self.native else BUILD / self.name / "blklat"

    def environment(self):
        """What a command in a guest needs besides this machine's environment: where its programs are."""
        if self.native:
            places = [str(TOOLS / d) for d in ("sbin", "bin", "usr/sbin")]
            return {"PATH": ":".join([*places, PATH]), "LD_LIBRARY_PATH": f"{stand_ins.folder()}:{library_path(TOOLS)}", "BLKLAT": self.blklat}
        return {"PATH": PATH, "BLKLAT": self.blklat, "ALTERED": BUILD / self.name / "tests/altered"}

    def shares(self):
        """Folders that its guests see besides their root."""
        if self.native:
            return ()
        return (TREE,) if BUILD.is_relative_to(TREE) else (TREE, BUILD)

    def fetch_root(self, update):
        if self.native or (read_stamp(self.root) and not update):
            return
        print(f"a {HOST} root for {self.name}", flush=True)
        with Staged(self.root) as scratch:
            bootstrap(HOST, scratch, ROOT_PACKAGES, "extract", f"--architectures={self.name}", f"--setup-hook={MERGED_USR}")
            write_stamp(scratch)

    def clock(self):
        """Kernel parameters for its clock."""
        khz = tsc.khz() if self.native else None
        return f"tsc_early_khz={khz}" if khz else ""


def link_kmod(folder):
    """The package's own links are absolute."""
    for name in KMOD_NAMES:
        link = folder / "sbin" / name
        link.unlink(missing_ok=True)
        link.symlink_to("../bin/kmod")


def fetch_tools(update):
    stand_ins.fetch()
    if update or not read_stamp(TOOLS):
        fetch_programs(TOOLS, TOOL_PACKAGES, link_kmod)
        for name, argument in (("modprobe", "-V"), ("mdadm", "-V"), ("nvme", "version"), ("dmsetup", "--version")):
            run_in(TOOLS, name, argument)


# Without tsc=reliable 5.10 and 6.1 fall back to a slow, coarse clock.
AMD64 = Architecture(
    "amd64", "qemu-system-x86_64", ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios"),
    ("-machine", "q35", "-cpu", "max"), "console=ttyS0 tsc=reliable", native=True)
# The oldest CPU with 16 KiB pages, and without pointer authentication, which takes longest to emulate.
ARM64 = Architecture(
    "arm64", "qemu-system-aarch64", ("qemu-system-arm", "qemu-system-common", "qemu-system-data"),
    ("-machine", "virt,gic-version=3", "-cpu", "cortex-a76"), "console=ttyAMA0",
    cross="aarch64-linux-gnu-")
FOREIGN_APT = {a.name: Apt(CACHE / f"apt-{a.name}", a.name) for a in (ARM64,)}
