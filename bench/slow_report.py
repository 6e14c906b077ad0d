# SPDX-License-Identifier: GPL-2.0-only
"""What a report of a recording with a million slow IOs takes, each with all that may be known of one; and of one without, to
compare with. 'make bench-report'; no root."""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from script import write_recording  # noqa: E402

INTERVALS, KINDS = 1000, 15
COMMANDS = ("postgres", "fio", "backup", "kworker/u16:3")
CGROUPS = [f"/system.slice/unit{i}.service" for i in range(20)]


def slow_io(r, op):
    return (f"slow {op} {r.randrange(10 ** 7, 10 ** 9)}ns {4096 << r.randrange(6)} ago={r.randrange(999)}ms sector={8 * r.randrange(10 ** 8)} "
            f"queue={r.randrange(10 ** 6)}ns hw-queue={r.randrange(8)} cpu={r.randrange(64)} pid={r.randrange(1, 30000)} comm={r.choice(COMMANDS)} "
            f"cgroup={r.choice(CGROUPS)} in={r.choice(('read', 'write', 'flush'))}")


def recording_of(path, slow):
    """A device that reads and writes for INTERVALS seconds, with @slow of its IOs listed as slow."""
    r, each = random.Random(1), slow // INTERVALS
    lines = ["blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", "by beside", *([f"slow-max {each}"] if slow else []),
             "device nvme0n1 kind=nvme scheduler=none size=1920383410176 queues=8", "watch nvme0n1 device"]
    for _ in range(INTERVALS):
        lines += [f"io {op} {round(20e3 * 2 ** i)}ns 4096 x{1 + 1000 // (1 + i)} in={('nothing', 'read', 'write', 'flush')[i % 4]}"
                  for op in ("read", "write") for i in range(KINDS)]
        lines += [slow_io(r, ("read", "write")[i % 2]) for i in range(each)]
        lines.append("tick 1")
    return write_recording("\n".join(lines), path)


def run(*argv):
    """Returns elapsed seconds, seconds of CPU time, and peak memory in MiB."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, argv)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"bench: {said.strip()}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(blklat, folder, slow, rounds):
    recording, page = recording_of(folder / f"{slow}.blklat", slow), folder / "page.html"
    took = [run(blklat, "report", recording, "-o", page) for _ in range(rounds)]
    wall, cpu = (sorted(times)[rounds // 2] for times in list(zip(*took))[:2])
    yield (f"{slow:>9,} slow IOs: recording {recording.stat().st_size / 1e6:.0f} MB, report {wall:.2f} s ({cpu:.2f} s of CPU), "
           f"{max(mib for *_, mib in took):.0f} MiB, page {page.stat().st_size / 1e6:.1f} MB")


def main():
    p = argparse.ArgumentParser(prog="slow_report.py", description=__doc__.split("\n\n", 1)[0])
    p.add_argument("--build", default="build", metavar="DIR", help="where blklat was built")
    p.add_argument("--slow", type=int, default=10 ** 6, metavar="N", help="slow IOs (default 1000000)")
    p.add_argument("--rounds", type=int, default=3, metavar="N", help="the median of so many (default 3)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="blklat-bench-") as folder:
        print(f"{INTERVALS} intervals of reads and writes by what they are beside")
        for slow in 0, o.slow:
            for line in measure(f"{o.build}/blklat", pathlib.Path(folder), slow, o.rounds):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
