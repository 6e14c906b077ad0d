# SPDX-License-Identifier: GPL-2.0-only
"""
A separate Debian 12 in the cache, to install packages in and to boot with systemd; or another release, for what that one
lacks. Writes go to a layer that is thrown away.
"""
import os
import pathlib
import re
import subprocess
import tempfile

from cache import CACHE, keyed, locked, read_stamp, write_stamp
from packages import HOST, Failure, Staged, bootstrap, run

# To build the module, to boot, and to inspect what runs then.
PACKAGES = ("apparmor", "apt", "bash-completion", "ccache", "curl", "dkms", "gcc", "kmod", "linux-headers-amd64", "make", "man-db",
            "procps", "python3-pytest", "systemd-sysv", "udev")
# What was compiled there.
COMPILED = CACHE / "ccache"
# $1: an empty folder, $2: the chroot, $3 and $4: the folders that become /out and /ccache there; then the command.
ENTER = """\
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
root=$1/root out=$3 ccache=$4
shift 4
mkdir -p "$root/out" "$root/ccache"
mount --bind "$out" "$root/out"
mount --bind "$ccache" "$root/ccache"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
exec chroot "$root" "$@"
"""


def needs(debs):
    """Names of the packages that these depend on, except themselves; the first of each alternative."""
    named = {run("dpkg-deb", "-f", deb, "Package").strip(): run("dpkg-deb", "-f", deb, "Depends") for deb in debs}
    found = {re.split(r"[\s(:]", part.strip())[0] for text in named.values() for part in text.split(",") if part.strip()}
    return sorted(found - set(named))


def fetch(debs):
    """Makes the chroot, with the dependencies of these packages; returns its folder."""
    return make(HOST, {*PACKAGES, *needs(debs)})


def make(suite, packages):
    """Makes a chroot of a release with these packages, if it is not there; returns its folder."""
    wanted = sorted(packages)
    if os.geteuid() != 0:
        raise Failure("a chroot takes root")
    with locked():
        folder = keyed(CACHE, f"chroot-{suite}", wanted)
        if read_stamp(folder):
            return folder
        print(f"a {suite} chroot", flush=True)
        with Staged(folder) as scratch:
            bootstrap(suite, scratch, wanted, "minbase")
            write_stamp(scratch)
    return folder


def enter(root, out, *argv, timeout=600):
    """Runs a command as root in a chroot, below a layer of its own; the folder out is /out there. Returns what it did."""
    path = pathlib.Path(out).resolve()
    COMPILED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="blklat-chroot-") as scratch:
        # The mounts end with the namespace, the processes with theirs.
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-ec", ENTER,
                               "sh", scratch, str(root), str(path), str(COMPILED), *map(str, argv)], capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=timeout,
                              env={"PATH": "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin", "CCACHE_DIR": "/ccache", "LC_ALL": "C.UTF-8", "HOME": "/root",
                                   "DEBIAN_FRONTEND": "noninteractive"})
