# SPDX-License-Identifier: GPL-2.0-only
"""A cgroup whose IOs a limit may hold back (io.max)."""
import contextlib
import json
import os
import pathlib
import subprocess

from load import fio_argv

ROOT = pathlib.Path("/sys/fs/cgroup")


@contextlib.contextmanager
def cgroup(device, limit):
    """A cgroup with that limit on the device."""
    subprocess.run(["mount", "-t", "cgroup2", "none", ROOT], check=True)
    try:
        (ROOT / "cgroup.subtree_control").write_text("+io")
        group = ROOT / "slow"
        group.mkdir()
        try:
            number = (device.sysfs / "dev").read_text().strip()
            (group / "io.max").write_text(f"{number} {limit}")
            yield group
        finally:
            group.rmdir()
    finally:
        subprocess.run(["umount", ROOT], check=True)


def fio_in(group, device, **options):
    """Runs fio in a cgroup; returns its figures of writes."""
    done = subprocess.run(fio_argv(device, **options), capture_output=True, text=True, check=True,
                          preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
    return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["write"]
