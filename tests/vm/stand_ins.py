# SPDX-License-Identifier: GPL-2.0-only
"""
Libraries without content in place of those that fio is linked with for storage that no test uses. To link the real ones and
what these need takes an emulated CPU longer than most loads.
"""
import pathlib
import re
import shutil

from cache import CACHE, keyed, read_stamp, write_stamp
from packages import Staged, run

FIO = pathlib.Path("/usr/bin/fio")
# And how the names of their functions begin.
LIBRARIES = {"libgfapi.so.0": "glfs", "libibverbs.so.1": "ibv", "libnbd.so.0": "nbd", "libpmem.so.1": "pmem", "libpmemblk.so.1": "pmemblk",
             "librados.so.2": "rados", "librbd.so.1": "rbd", "librdmacm.so.1": "rdma"}


def folder():
    """Of this machine's fio."""
    return keyed(CACHE, "stand-ins", FIO.read_bytes() if FIO.exists() else b"", LIBRARIES)


def fetch():
    """Call it under the cache's lock."""
    if FIO.exists() and not read_stamp(folder()):
        with Staged(folder()) as scratch:
            make(scratch)
            write_stamp(scratch)


def make(scratch):
    """Each has all functions, with their versions where they have some."""
    wanted = re.findall(rf" U ((?:{'|'.join(LIBRARIES.values())})_\w+)(?:@(\S+))?$", run("nm", "-D", FIO), re.M)
    versions = {}
    for name, version in wanted:
        if version:
            versions.setdefault(version, []).append(f"{name};")
    (scratch / "functions.c").write_text("".join(f"void {name}(void) {{}}\n" for name, _ in wanted))
    (scratch / "versions").write_text("".join(f"{version} {{ {' '.join(names)} }};\n" for version, names in versions.items()))
    run("gcc", "-shared", "-nostdlib", f"-Wl,--version-script={scratch}/versions", "-o", scratch / "all.so", scratch / "functions.c")
    # Files of their own: the linker takes links to one for a single library.
    for library in LIBRARIES:
        shutil.copy(scratch / "all.so", scratch / library)
