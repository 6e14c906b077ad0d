# SPDX-License-Identifier: GPL-2.0-only
"""Programs and maps that a process has in the kernel, and whether they outlive it."""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass

from needs import need
from waiting import wait_until


def descriptors(pid):
    """What the kernel tells of each open file of a process, by field."""
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield dict(re.findall(r"^(\w+):\s*(\S+)$", info.read_text(), re.M))


def bpf_objects(pid):
    """Numbers of the programs and maps that a process holds."""
    open_now = list(descriptors(pid))
    return {kind: {d[f"{kind}_id"] for d in open_now if f"{kind}_id" in d} for kind in ("prog", "map")}


@dataclass
class Program:
    name: str
    skipped: int	# its runs that the kernel left out because it was running already


def attached_programs(pid):
    """The programs that a process holds both itself and by a link."""
    skipped, linked = {}, set()
    for facts in descriptors(pid):
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


@contextlib.contextmanager
def leaves_nothing(pid):
    """No program and no map of the process is left after the block, whose value are those that it has now."""
    need(shutil.which("bpftool"), "no bpftool")
    held = bpf_objects(pid)
    assert len(held["prog"]) >= 2 and len(still_there(held)) == sum(map(len, held.values()))
    yield held
    wait_until(lambda: not still_there(held), "end of its programs and maps")
