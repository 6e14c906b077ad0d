# SPDX-License-Identifier: GPL-2.0-only
"""Programs and maps that a process has in the kernel, and whether they outlive it."""
import contextlib
import json
import pathlib
import re
import subprocess
from dataclasses import dataclass


def bpf_objects(pid):
    """Numbers of the programs and maps that a process holds."""
    held = {"prog": set(), "map": set()}
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        for kind, number in re.findall(r"^(prog|map)_id:\s*(\d+)$", info.read_text(), re.M):
            held[kind].add(number)
    return held


@dataclass
class Program:
    name: str
    skipped: int	# its runs that the kernel left out because it was running already


def attached_programs(pid):
    """The programs that a process holds both itself and by a link."""
    skipped, linked = {}, set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            facts = dict(re.findall(r"^(\w+):\s*(\S+)$", info.read_text(), re.M))
            if "link_type" in facts:
                linked.add(facts["prog_id"])
            elif "recursion_misses" in facts:
                skipped[facts["prog_id"]] = int(facts["recursion_misses"])
    return [Program(name_of(n), skipped[n]) for n in linked]


def name_of(number):
    shown = subprocess.run(["bpftool", "prog", "show", "id", number, "-j"], capture_output=True, check=True).stdout
    return json.loads(shown)["name"]


def exists(kind, number):
    return subprocess.run(["bpftool", kind, "show", "id", number], capture_output=True).returncode == 0


def still_there(held):
    return [(kind, n) for kind in held for n in held[kind] if exists(kind, n)]
