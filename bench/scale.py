# SPDX-License-Identifier: GPL-2.0-only
"""How the counters grow with CPUs and devices: their memory, and the CPU time of reading them, for machines that exist only
as trees of sysfs."""
import json
import pathlib
import subprocess
import sys
import tempfile

from machine import SHM, output_of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/cli"))

from sysfs_tree import GIB, Tree, write  # noqa: E402

STAGES = ("device", "queue", "total")
BY = (None, "size", "flags", "depth", "beside", "cgroup")  # enum blklat_by
NONE, MQ_DEADLINE = "[none] mq-deadline", "none [mq-deadline]"


def nvme(cpus, devices, stages=3, by=None):
    return cpus, devices, "nvme", {"queues": min(cpus, 128), "tags": 1023, "requests": 1023, "scheduler": NONE}, stages, by


MACHINES = [
    nvme(2, 1), nvme(16, 24), nvme(16, 100), nvme(128, 24), nvme(384, 24, 1), nvme(384, 24), nvme(384, 100), nvme(384, 24, 1, "cgroup"),
    (128, 60, "hba", {"queues": 128, "tags": 5089, "requests": 5089, "scheduler": NONE, "shared_tags": True}, 3),
    (128, 10, "sd", {"queues": 1, "tags": 32, "requests": 64, "scheduler": MQ_DEADLINE}, 3),
]


def one(build, root, cpus, n, name, queues, stages, by=None):
    tree = Tree(root)
    write(root / "sys/devices/system/cpu/possible", f"0-{cpus - 1}\n")
    write(root / "proc/sys/kernel/osrelease", "6.12.0\n")
    for i in range(n):
        tree.disk(f"{name}{i}", f"259:{i}", GIB, **queues)
    # It fails where no engine works, and says all the same what a run would take.
    check = subprocess.run([f"{build}/blklat", "check", "--sysroot", root, "--format", "json", "--max-memory", "1T", "--stage",
                            ",".join(STAGES[:stages]), *(["--by", by] if by else [])], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    memory = json.loads(check.stdout)["together"]
    return {"cpus": cpus, "devices": n, "name": name, "queues": queues["queues"], "stages": stages, "by": by,
            "fixed_bytes": memory["fixed_bytes"], "own_bytes": memory["memory_bytes"] - memory["fixed_bytes"],
            **json.loads(output_of(f"{build}/bench/scale", root, str((1 << stages) - 1), str(BY.index(by))))}


def measure(build, progress):
    rows = []
    for machine in MACHINES:
        progress(f"{machine[1]} devices on {machine[0]} CPUs")
        with tempfile.TemporaryDirectory(prefix="blklat-bench-", dir=SHM) as root:
            rows.append(one(build, pathlib.Path(root), *machine))
    return rows


def lines(rows):
    yield f"{'devices, all busy on all CPUs':45} {'MiB, without':>12} {'with own':>10} {'a drain':>10} {'at rest':>9}"
    for r in rows:
        what = f"{r['cpus']} CPUs, {r['devices']} {r['name']} x {r['queues']}, {r['stages']} stage{'s'[r['stages'] == 1:]}{', by ' + r['by'] if r['by'] else ''}"
        fixed, own = (r[k] / 2 ** 20 for k in ("fixed_bytes", "own_bytes"))
        yield f"{what:45} {fixed:>12,.1f} {fixed + own:>10,.1f} {r['busy_ms']:>7.2f} ms {r['idle_ms']:>6.2f} ms"
