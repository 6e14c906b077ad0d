# SPDX-License-Identifier: GPL-2.0-only
"""Two processes that send IOs at once; and who sent and who issued them, by the kernel's own trace."""
import pathlib
import re
import shutil
import tempfile

from load import Fio
from parts import labels_of, parts_of

EVENTS = {"device": "block_rq_issue", "total": "block_bio_queue"}


def send(device):
    """Returns what each did by its label: a reader of two threads, and a writer that syncs."""
    jobs = []
    with tempfile.TemporaryDirectory(prefix="blklat-test-") as folder:
        for name, options in {"a reader (1)": {"rw": "randread", "numjobs": 2, "number_ios": 150},
                              "writer": {"rw": "randwrite", "number_ios": 200, "fsync": 4}}.items():
            program = pathlib.Path(folder, name)
            program.symlink_to(shutil.which("fio"))
            jobs.append((name, Fio(device, program=program, **options)))
        return {f"{name} ({job.pid})": job.result() for name, job in jobs}


def traced_senders(lines, event):
    """{command: {op: IOs}}. Workers of the kernel are one."""
    found = {}
    for line in lines:
        if m := re.search(rf" {event}: \S+ F?([A-Z])\w* .*\+ (\d+) .*\[(.*)\]$", line):
            op = {"R": "read", "W": "write"}[m[1]] if int(m[2]) else "flush"
            ops = found.setdefault("kworker" if m[3].startswith("kworker/") else m[3], {})
            ops[op] = ops.get(op, 0) + 1
    return found


def assert_senders(b, device, done, lines):
    """A process sends what it was asked to send. Who issues it depends on the kernel and on the moment, so the trace has to tell."""
    (reader, read), (writer, wrote) = done.items()
    sent = {reader: {"read": 300}, writer: {"write": 200, "flush": wrote.job["sync"]["total_ios"]}}
    assert read.ios("read") == 300 and wrote.ios("write") == 200 and sent[writer]["flush"] >= 49
    at = {stage: parts_of(b, labels_of(b), device, stage) for stage in EVENTS}
    assert at["total"] == sent
    assert at["device"].keys() <= {reader, writer, "kworker"}
    assert b.ops(device, "device") == sent[reader] | sent[writer]
    for stage, event in EVENTS.items():
        told = {re.sub(r" \(\d+\)$", "", label): ops for label, ops in at[stage].items()}
        assert told == traced_senders(lines, event), stage
