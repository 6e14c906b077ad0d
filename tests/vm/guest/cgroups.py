# SPDX-License-Identifier: GPL-2.0-only
"""Cgroups (version 2) of a test's own, and processes in them."""
import contextlib
import json
import pathlib
import subprocess

from devices import run
from load import fio_argv

ROOT = pathlib.Path("/sys/fs/cgroup")


@contextlib.contextmanager
def hierarchy():
    """Makes cgroups by their paths below the root, with the controllers that charge memory, IO and writeback."""
    made = []

    def make(path):
        group = ROOT
        for name in path.split("/"):
            (group / "cgroup.subtree_control").write_text("+io +memory")
            group /= name
            if not group.exists():
                group.mkdir()
                made.append(group)
        return group

    run("mount", "-t", "cgroup2", "none", ROOT)
    try:
        yield make
    finally:
        for group in reversed(made):
            if group.exists():
                group.rmdir()
        run("umount", ROOT)


@contextlib.contextmanager
def cgroup(limits):
    """A cgroup that may hold IOs back (io.max): {device: limit}."""
    with hierarchy() as make:
        group = make("slow")
        for device, limit in limits.items():
            (group / "io.max").write_text(f"{device.number} {limit}")
        yield group


def enter(group):
    """For subprocess: moves the process that calls it into that cgroup."""
    return lambda: (group / "cgroup.procs").write_text("0")


def fios_in(group, loads):
    """Runs a fio on each device in a cgroup, all at once: {device: options}. Returns {device: figures of writes}."""
    running = {device: subprocess.Popen(fio_argv(device, **options), stdout=subprocess.PIPE, text=True, preexec_fn=enter(group))
               for device, options in loads.items()}
    figures = {}
    for device, process in running.items():
        told = process.communicate()[0]
        assert process.returncode == 0, told
        figures[device] = json.loads(told[told.index("{"):])["jobs"][0]["write"]
    return figures
