# SPDX-License-Identifier: GPL-2.0-only
"""A replay's output as the JSON lines of live, and ways to look at these."""
import json
import subprocess

from attacks import BLKLAT, ENV


def replay(file, *args):
    r = subprocess.run([BLKLAT, "live", "--replay", file, "--format", "json", "--bins", *args], capture_output=True,
                       env=ENV, timeout=60)
    assert r.returncode == 0 or b"no watched device is left" in r.stderr, r.stderr
    return [json.loads(line) for line in r.stdout.splitlines()]


def of_lines(lines):
    """Every op of every line: (line, op)."""
    return [(line, o) for line in lines for o in line["ops"]]


def watch_of(line):
    return line["device"], line["stage"], line.get("part", {}).get("label")


def key_of(line, o):
    device, stage, part = watch_of(line)
    return device, stage, o["op"], part


def wholes(lines):
    return [line for line in lines if "part" not in line]


def counted(lines):
    """The lines whose ops a recording stores: where a watch is divided, only the parts, which add up to the whole."""
    divided = {watch_of(line)[:2] for line in lines if "part" in line}
    return [line for line in lines if "part" in line or watch_of(line)[:2] not in divided]


def by_op(lines):
    found = {}
    for line, o in of_lines(lines):
        found.setdefault(key_of(line, o), []).append((line, o))
    return found


def ticks(lines):
    """The lines of each interval: a new one begins where the first watch comes again."""
    found = []
    for line in lines:
        if not found or watch_of(line) in map(watch_of, found[-1]):
            found.append([])
        found[-1].append(line)
    return found


def summed(ops):
    total = {}
    for o in ops:
        for low, high, n in o["bins"]:
            total[low, high] = total.get((low, high), 0) + n
    return total
