# SPDX-License-Identifier: GPL-2.0-only
"""Parts by flags, depth and neighbour: their labels, and which one an IO is in, by arithmetic of its own."""
import re


FLAGS = "FUA/flush", "metadata", "readahead", "sync", "writeback", "other"
DEPTHS = "1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129-256", "257-512", "513+"
BESIDE = "flush", "discard", "other", "big write", "write", "read", "nothing"


def parts_of(b, labels, device, stage):
    """{part: {op: IOs}} of all parts that had IOs; they add up to the whole."""
    found = {part: ops for part in labels if (ops := b.ops(device, stage, part))}
    whole = {}
    for ops in found.values():
        for op, n in ops.items():
            whole[op] = whole.get(op, 0) + n
    assert whole == b.ops(device, stage)
    return found


def labels_of(b):
    """The labels that had lines. For --by cgroup, which has no fixed list."""
    return {l["part"]["label"] for l in b.lines if "part" in l}


def of_op(b, labels, device, stage, op):
    """{part: IOs} of one op."""
    return {part: ops[op] for part, ops in parts_of(b, labels, device, stage).items() if op in ops}


def class_of(rwbs):
    """A request's class by the letters of the trace: F before the op is a preflush, after it FUA; then ahead, sync, metadata."""
    op = rwbs.lstrip("F")[:1] or "F"
    rest = rwbs[rwbs.index(op) + 1:] if op != "F" else ""
    if "F" in rwbs:
        return "FUA/flush"
    if "M" in rest:
        return "metadata"
    if "A" in rest:
        return "readahead"
    if "S" in rest or op == "R":
        return "sync"
    return "writeback" if op == "W" else "other"


def classes_in(lines):
    """{class: requests} of the trace's lines about issued requests."""
    found = {}
    for line in lines:
        if m := re.search(r" block_rq_issue: \S+ ([A-Z]+) ", line):
            found[class_of(m[1])] = found.get(class_of(m[1]), 0) + 1
    return found


def depths_up_to(n):
    """IOs of each part where n begin before the first one ends."""
    found = {}
    for part in DEPTHS[:-1]:
        low, high = int(part.split("-")[0]), int(part.split("-")[-1])
        if n >= low:
            found[part] = min(n, high) - low + 1
    return found
