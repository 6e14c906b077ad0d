# SPDX-License-Identifier: GPL-2.0-only
"""
A stock Debian kernel in the cache: image and modules to boot, headers to build against.

Below the cache ($BLKLAT_VM_CACHE, else ~/.cache/blklat), each complete once it is there:
  qemu/           QEMU 10, with the libraries that this machine lacks; qemu-arm64/ another architecture's
  tools/          programs for the guest that the host need not have installed; pahole/ for the build of a kernel (built.py)
  root-arm64-KEY/ the files of a guest that is not of this machine's architecture
  stand-ins-KEY/  libraries without content for this machine's fio (stand_ins.py)
  kernels/6.1/    vmlinuz, lib/modules/RELEASE, build (for make -C ... M=...), stamp.json
"""
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from architectures import AMD64, TOOLS
from cache import APT, CACHE, keyed, program, read_stamp, run_in, write_stamp
from packages import Failure, Staged, bootstrap

HERE = pathlib.Path(__file__).resolve().parent
# What the first process needs to reach its root.
INIT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
HOST_CC = "gcc-12"  # of Debian 12; took 6.1 and 6.12 too
CHROOT_MAKEFILE = """\
# Builds in the chroot that has this kernel's compiler. The mounts end with the process.
modules clean:
	+@unshare --mount --propagation private sh -ec 'mount -t proc proc {chroot}/proc; \\
		mount --bind "$(M)" {chroot}/module; exec chroot {chroot} make -C {headers} M=/module $@'
"""


class Kernel:
    memory = "1G"  # of a guest

    def __init__(self, series, suites, chroot=None, arch=AMD64, flavour=None):
        self.series = series
        self.suites = suites
        self.arch = arch
        self.flavour = flavour or arch.name  # how the packages' names end
        self.name = f"{series}-{self.flavour}".removesuffix("-amd64")
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
        """The image package; the newest available where its suite has moved on."""
        for series in (re.escape(self.series), r"\d+\.\d+") if self.chroot_suite else (re.escape(self.series),):
            found = self.arch.apt.newest("linux-image-", rf"linux-image-{series}[.+][^-]*(-\d+)?-{self.flavour}", self.suites)
            if found:
                return found
        raise Failure(f"kernel {self.name}: no package in {' or '.join(self.suites)}")

    def fetch(self, update):
        stamp = read_stamp(self.folder)
        if stamp and not update:
            return
        apt = self.arch.apt
        apt.update()
        image, version = self.newest()
        release = image.removeprefix("linux-image-")
        if stamp.get("release") == release and stamp.get("version") == version:
            return
        print(f"kernel {self.name}: {release} {version}", flush=True)
        parts = [image] + [name for name in apt.depends(image) if release in name]
        headers = f"linux-headers-{release}"
        with Staged(self.folder) as scratch:
            if not self.chroot_suite:
                needs = apt.depends(headers)
                parts += [headers] + [n for n in needs if n.startswith("linux-headers-")]
                # The headers' build programs, for this machine.
                APT.update()
                APT.unpack([n for n in needs if n.startswith("linux-kbuild-")], scratch)
            apt.unpack(parts, scratch)
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
        """The headers name each other by the paths of an installation, and maybe an older compiler."""
        source = scratch / "usr/src" / headers
        final = self.folder / "usr/src"
        makefile = source / "Makefile"
        makefile.write_text(makefile.read_text().replace("include /usr/src/", f"include {final}/"))
        variables = source / ".kernelvariables"
        variables.write_text(re.sub(r"gcc-\d+$", HOST_CC, variables.read_text(), flags=re.M))
        # With its BTF the build would make the module's own, which needs pahole.
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
        bootstrap(self.chroot_suite, chroot, ("make", f"{headers}:{self.arch.name}"), "apt",
                  f"--architectures={','.join(dict.fromkeys((AMD64.name, self.arch.name)))}")
        (chroot / "module").mkdir()
        (scratch / "build").mkdir()
        (scratch / "build/Makefile").write_text(CHROOT_MAKEFILE.format(chroot=self.folder / "chroot",
                                                                       headers=f"/usr/src/{headers}"))
        (scratch / "build/include").symlink_to(f"../chroot/usr/src/{headers}/include")

    # --- initramfs ---

    def initrd(self):
        """Path of an initramfs with the current init, made when there is none."""
        path = keyed(self.folder, "initrd", (HERE / "init").read_bytes(), pathlib.Path(__file__).read_bytes())
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                root = pathlib.Path(scratch) / "root"
                self._fill_initrd(root)
                packed = pathlib.Path(scratch) / "initrd"
                # Not compressed: an emulated CPU takes longer to unpack it than to load it.
                busybox, _ = program(TOOLS, "busybox")
                with open(packed, "wb") as out:
                    subprocess.run(["sh", "-c", f"find . | {busybox} cpio -o -H newc"], cwd=root, stdout=out,
                                   stderr=subprocess.DEVNULL, check=True)
                packed.rename(path)
        return path

    def _fill_initrd(self, root):
        for name in ("bin", "lib", "proc", "sys", "dev", "lower", "layer", "root"):
            (root / name).mkdir(parents=True)
        shutil.copy(self.arch.busybox, root / "bin/busybox")
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
