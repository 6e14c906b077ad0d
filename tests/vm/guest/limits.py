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
def cgroup(limits):
    """A cgroup with limits on devices: {device: limit}."""
    subprocess.run(["mount", "-t", "cgroup2", "none", ROOT], check=True)
    try:
        (ROOT / "cgroup.subtree_control").write_text("+io")
        group = ROOT / "slow"
        group.mkdir()
        try:
            for device, limit in limits.items():
                (group / "io.max").write_text(f"{device.number} {limit}")
            yield group
        finally:
            group.rmdir()
    finally:
        subprocess.run(["umount", ROOT], check=True)


def fios_in(group, loads):
    """Runs a fio on each device in a cgroup, all at once: {device: options}. Returns {device: figures of writes}."""
    running = {device: subprocess.Popen(fio_argv(device, **options), stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
               for device, options in loads.items()}
    figures = {}
    for device, process in running.items():
        told = process.communicate()[0]
        assert process.returncode == 0, told
        figures[device] = json.loads(told[told.index("{"):])["jobs"][0]["write"]
    return figures
