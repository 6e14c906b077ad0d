# SPDX-License-Identifier: GPL-2.0-only
"""Cgroups that IO is charged to, made for a test and removed after it."""
import contextlib
import os
import pathlib
import subprocess

from needs import need
from waiting import wait_until


def hierarchy():
    """Where IO is charged: version 2's, if that has the controller, else version 1's."""
    v2 = next((p for p in map(pathlib.Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")) if (p / "cgroup.controllers").exists()), None)
    if v2 and "io" in (v2 / "cgroup.controllers").read_text().split():
        return v2
    need((v1 := pathlib.Path("/sys/fs/cgroup/blkio")).exists(), "a hierarchy of cgroups that IO is charged in")
    return v1


class Groups:
    """Cgroups by their paths, below one of this test's own."""

    def __init__(self):
        root = hierarchy()
        self.name = f"/blklat-test-{os.getpid()}"
        self.top = root / self.name[1:]
        self.made = []
        self.v2 = (root / "cgroup.subtree_control").exists()
        if self.v2:
            (root / "cgroup.subtree_control").write_text("+io")

    def make(self, path=""):
        group = self.top / path
        missing = [p for p in (group, *group.parents) if not p.exists()]
        for p in reversed(missing):
            if self.v2 and p != self.top:
                (p.parent / "cgroup.subtree_control").write_text("+io")
            p.mkdir()
            self.made.append(p)
        return group

    def remove(self, group):
        def removed():
            with contextlib.suppress(OSError):  # its last task is still exiting
                group.rmdir()
            return not group.exists()

        wait_until(removed, f"end of {group}")
        self.made.remove(group)

    def run(self, path, *argv):
        """Runs a command in a cgroup and waits for its end."""
        group = self.make(path)
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))
        return group


@contextlib.contextmanager
def groups():
    g = Groups()
    try:
        yield g
    finally:
        for group in reversed(g.made[:]):
            g.remove(group)


def ours():
    """This process's own cgroup, as the tests' other IOs are charged."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return path
    return next(line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0:"))
