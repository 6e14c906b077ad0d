# SPDX-License-Identifier: GPL-2.0-only
"""Programs and maps that a process has in the kernel, and whether they outlive it."""
import pathlib
import re
import subprocess


def bpf_objects(pid):
    """Numbers of the programs and maps that a process holds."""
    held = {"prog": set(), "map": set()}
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        for kind, number in re.findall(r"^(prog|map)_id:\s*(\d+)$", info.read_text(), re.M):
            held[kind].add(number)
    return held


def exists(kind, number):
    return subprocess.run(["bpftool", kind, "show", "id", number], capture_output=True).returncode == 0


def still_there(held):
    return [(kind, n) for kind in held for n in held[kind] if exists(kind, n)]
