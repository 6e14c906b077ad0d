# SPDX-License-Identifier: GPL-2.0-only
"""
Stock Debian kernels in the cache: image and modules to boot, headers to build against.

Below the cache ($BLKLAT_VM_CACHE, else ~/.cache/blklat), each complete once it is there:
  qemu/           QEMU 10, with the libraries that this machine lacks
  tools/          programs for the guest that the host need not have installed
  kernels/6.1/    vmlinuz, lib/modules/RELEASE, build (for make -C ... M=...), stamp.json
"""
import contextlib
import fcntl
import hashlib
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from packages import Apt, Failure, Staged, mirrors, run, source_line

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("BLKLAT_VM_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "blklat").absolute()
LAYOUT = 1  # of the cache; another one is fetched anew
APT = Apt(CACHE / "apt")
QEMU, TOOLS = CACHE / "qemu", CACHE / "tools"
QEMU_PACKAGES = ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios")
# Named with their libraries: to install mdadm would mean udev too.
TOOL_PACKAGES = ("busybox-static", "kmod", "libkmod2", "mdadm", "nvme-cli", "libnvme1", "dmsetup",
                 "libdevmapper1.02.1")
KMOD_NAMES = ("depmod", "insmod", "lsmod", "modinfo", "modprobe", "rmmod")
# What the first process needs to reach its root.
INIT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
HOST_CC = "gcc-12"  # of Debian 12; took 6.1 and 6.12 too
CHROOT_MAKEFILE = """\
# Builds in the chroot that has this kernel's compiler. The mounts end with the process.
modules clean:
	+@unshare --mount --propagation private sh -ec 'mount -t proc proc {chroot}/proc; \\
		mount --bind "$(M)" {chroot}/module; exec chroot {chroot} make -C {headers} M=/module $@'
"""


def library_path(folder):
    return ":".join(str(folder / d / "x86_64-linux-gnu") for d in ("usr/lib", "lib"))


def program(folder, name):
    """Path of a program in an unpacked folder, and the environment it wants."""
    for place in ("usr/sbin", "usr/bin", "sbin", "bin"):
        if (folder / place / name).exists():
            return str(folder / place / name), os.environ | {"LD_LIBRARY_PATH": library_path(folder)}
    raise Failure(f"no {name} in {folder}: vm.py fetch --update")


def run_in(folder, name, *argv, **options):
    path, env = program(folder, name)
    return run(path, *argv, env=env, **options)


def read_stamp(folder):
    try:
        stamp = json.loads((folder / "stamp.json").read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return stamp if stamp.get("layout") == LAYOUT else {}


def write_stamp(folder, **facts):
    (folder / "stamp.json").write_text(json.dumps({"layout": LAYOUT} | facts) + "\n")


def fetch_programs(folder, names, complete=None):
    """Unpacks packages of programs; complete() adds to the folder before it gets its name."""
    APT.update()
    print(f"{folder.name}: {' '.join(names)}", flush=True)
    with Staged(folder) as scratch:
        APT.unpack(names, scratch)
        if complete:
            complete(scratch)
        write_stamp(scratch)


def link_kmod(folder):
    """The package's own links are absolute."""
    for name in KMOD_NAMES:
        link = folder / "sbin" / name
        link.unlink(missing_ok=True)
        link.symlink_to("../bin/kmod")


def fetch_qemu(update):
    if read_stamp(QEMU) and not update:
        with contextlib.suppress(Failure):  # a library may have gone from the machine since
            return run_in(QEMU, "qemu-system-x86_64", "--version").splitlines()[0]
    APT.update()
    fetch_programs(QEMU, APT.with_libraries(*QEMU_PACKAGES))
    return run_in(QEMU, "qemu-system-x86_64", "--version").splitlines()[0]


def fetch_tools(update):
    if update or not read_stamp(TOOLS):
        fetch_programs(TOOLS, TOOL_PACKAGES, link_kmod)
        for name, argument in (("modprobe", "-V"), ("mdadm", "-V"), ("nvme", "version"), ("dmsetup", "--version")):
            run_in(TOOLS, name, argument)


class Kernel:
    def __init__(self, series, suites, chroot=None, flavour="amd64"):
        self.series = series
        self.flavour = flavour  # as the packages' names end
        self.name = f"{series}-{flavour}".removesuffix("-amd64")
        self.suites = suites
        self.chroot_suite = chroot  # release to build modules in, if this one has no compiler for it
        self.folder = CACHE / "kernels" / self.name

    @property
    def release(self):
        """As uname -r says it."""
        return self._stamp("release")

    @property
    def version(self):
        return self._stamp("version")

    def _stamp(self, key):
        stamp = read_stamp(self.folder)
        if not stamp:
            raise Failure(f"kernel {self.name} is not in {CACHE}: vm.py fetch {self.name}")
        return stamp[key]

    @property
    def vmlinuz(self):
        return self.folder / "vmlinuz"

    @property
    def modules(self):
        return self.folder / "lib/modules"

    @property
    def headers(self):
        """KDIR for make -C KDIR M=DIR modules."""
        return self.folder / "build"

    # --- fetching ---

    def newest(self):
        """The image package; where its suite has moved on, the newest there is."""
        for series in (re.escape(self.series), r"\d+\.\d+") if self.chroot_suite else (re.escape(self.series),):
            found = APT.newest("linux-image-", rf"linux-image-{series}[.+][^-]*(-\d+)?-{self.flavour}", self.suites)
            if found:
                return found
        raise Failure(f"kernel {self.name}: no package in {' or '.join(self.suites)}")

    def fetch(self, update):
        stamp = read_stamp(self.folder)
        if stamp and not update:
            return
        APT.update()
        image, version = self.newest()
        release = image.removeprefix("linux-image-")
        if stamp.get("release") == release and stamp.get("version") == version:
            return
        print(f"kernel {self.name}: {release} {version}", flush=True)
        parts = [image] + [name for name in APT.depends(image) if release in name]
        headers = f"linux-headers-{release}"
        with Staged(self.folder) as scratch:
            if not self.chroot_suite:
                parts += [headers] + [n for n in APT.depends(headers) if re.match("linux-(headers|kbuild)-", n)]
            APT.unpack(parts, scratch)
            self._place(scratch, release)
            if self.chroot_suite:
                self._make_chroot(scratch, headers)
            else:
                self._point_headers(scratch, headers, release)
            write_stamp(scratch, release=release, version=version)

    def _place(self, scratch, release):
        if not (scratch / "lib").exists():
            (scratch / "lib").symlink_to("usr/lib")
        images = [p for p in (scratch / f"boot/vmlinuz-{release}", scratch / f"lib/modules/{release}/vmlinuz")
                  if p.exists()]
        if not images:
            raise Failure(f"kernel {self.name}: its packages hold no vmlinuz")
        (scratch / "vmlinuz").symlink_to(images[0].relative_to(scratch))
        run_in(TOOLS, "depmod", "-b", scratch, release)

    def _point_headers(self, scratch, headers, release):
        """The headers name each other by where they would be installed, and maybe an older compiler."""
        source = scratch / "usr/src" / headers
        final = self.folder / "usr/src"
        makefile = source / "Makefile"
        makefile.write_text(makefile.read_text().replace("include /usr/src/", f"include {final}/"))
        variables = source / ".kernelvariables"
        variables.write_text(re.sub(r"gcc-\d+$", HOST_CC, variables.read_text(), flags=re.M))
        # Its BTF would be wanted for the module's own, which takes pahole.
        (source / "vmlinux").unlink(missing_ok=True)
        (scratch / "build").symlink_to(f"usr/src/{headers}")
        for link in ("build", "source"):
            path = scratch / "lib/modules" / release / link
            if path.is_symlink():
                target = os.readlink(path)
                path.unlink()
                path.symlink_to(target.replace("/usr/src", str(final)))

    def _make_chroot(self, scratch, headers):
        print(f"kernel {self.name}: a {self.chroot_suite} chroot with its compiler", flush=True)
        chroot = scratch / "chroot"
        # In a namespace of its own, so that no mount is left behind.
        run("unshare", "--mount", "--propagation", "private", "mmdebstrap", "--quiet", "--mode=root",
            "--variant=apt", f"--include=make,{headers}", '--aptopt=Acquire::Check-Valid-Until "false"',
            '--aptopt=Acquire::Retries "3"', '--aptopt=APT::Install-Recommends "false"',
            self.chroot_suite, chroot, source_line(mirrors()[0], self.chroot_suite))
        (chroot / "module").mkdir()
        (scratch / "build").mkdir()
        (scratch / "build/Makefile").write_text(CHROOT_MAKEFILE.format(chroot=self.folder / "chroot",
                                                                       headers=f"/usr/src/{headers}"))
        (scratch / "build/include").symlink_to(f"../chroot/usr/src/{headers}/include")

    # --- initramfs ---

    def initrd(self):
        """Path of an initramfs with the present init, made when there is none."""
        key = hashlib.sha256((HERE / "init").read_bytes() + pathlib.Path(__file__).read_bytes()).hexdigest()[:16]
        path = self.folder / f"initrd-{key}"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                root = pathlib.Path(scratch) / "root"
                self._fill_initrd(root)
                packed = pathlib.Path(scratch) / "initrd"
                # Not compressed: to unpack it costs an emulated CPU more than to load it.
                busybox, _ = program(TOOLS, "busybox")
                with open(packed, "wb") as out:
                    subprocess.run(["sh", "-c", f"find . | {busybox} cpio -o -H newc"], cwd=root, stdout=out,
                                   stderr=subprocess.DEVNULL, check=True)
                for old in self.folder.glob("initrd-*"):
                    old.unlink(missing_ok=True)
                packed.rename(path)
        return path

    def _fill_initrd(self, root):
        for name in ("bin", "lib", "proc", "sys", "dev", "lower", "layer", "root"):
            (root / name).mkdir(parents=True)
        shutil.copy(program(TOOLS, "busybox")[0], root / "bin/busybox")
        shutil.copy(HERE / "init", root / "init")
        (root / "init").chmod(0o755)
        order = []
        for module in INIT_MODULES:
            plan = run_in(TOOLS, "modprobe", "-d", self.folder, "-S", self.release, "--show-depends", module)
            for path in re.findall(r"^insmod (\S+)", plan, re.M):
                content = pathlib.Path(path).read_bytes()
                name = pathlib.Path(path).name
                if name.endswith(".xz"):
                    name, content = name[:-3], lzma.decompress(content)
                if name not in order:
                    order.append(name)
                    (root / "lib" / name).write_bytes(content)
        (root / "order").write_text("\n".join(order) + "\n")


KERNELS = {k.name: k for k in (
    Kernel("5.10", ("bullseye-security", "bullseye")),
    Kernel("6.1", ("bookworm-security", "bookworm")),
    Kernel("6.1", ("bookworm-security", "bookworm"), flavour="rt-amd64"),
    Kernel("6.12", ("bookworm-security", "bookworm-backports")),
    Kernel("6.12", ("bookworm-security", "bookworm-backports"), flavour="rt-amd64"),
    Kernel("7.2", ("sid",), chroot="sid"),
)}


def remove_leftovers():
    """What a fetch left that was killed."""
    for pattern in (".*.*", "kernels/.*.*", "kernels/*/tmp*", "apt/tmp*"):
        for folder in CACHE.glob(pattern):
            shutil.rmtree(folder)


def fetch(kernels, update=False):
    """Downloads and prepares what is missing; with update, what has become newer."""
    if os.geteuid() != 0:
        raise Failure("the kernels' guests see this machine's root and are prepared in a chroot: run this as root")
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_leftovers()
        emulator = fetch_qemu(update)
        fetch_tools(update)
        for kernel in kernels:
            kernel.fetch(update)
            kernel.initrd()
    return emulator
