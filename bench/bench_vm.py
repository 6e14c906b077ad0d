# SPDX-License-Identifier: GPL-2.0-only
"""What watching an IO costs in instructions, counted: 'make bench-vm', as root.

QEMU's -icount makes a nanosecond of the guest's clock one instruction, so whatever else this machine
does, two runs differ by a few instructions an IO (timer interrupts, where things lie in memory). A
missed target is said, not failed: the exit status is 0 when everything could be measured, else 1.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from bench import package_version
from contenders import version

HERE = pathlib.Path(__file__).resolve().parent
VM = (sys.executable, "-B", str(HERE.parent / "tests/vm/vm.py"))


@dataclass
class Row:
    name: str
    about: str
    target: int = None		# limit of instructions an IO above no tool
    reference: int = None	# result of an earlier trial, on another machine


# In the order of the table; the names are those of vm_guest.py.
ROWS = (
    Row("floor", "two BPF programs that only read the clock", reference=244),
    Row("blklat bpf", "default options", target=600),
    Row("blklat kmod", "default options", target=307),
    Row("blklat bpf, at first", "with a standby for ends"),
    Row("blklat bpf, 1 standby", "for ends and starts"),
    Row("blklat bpf, idle gap", "IOs after a pause told apart"),
    Row("blklat kmod, idle gap", "the same"),
    *(Row(f"blklat {engine}, by {by}", "divided into parts" if engine == "bpf" else "the same")
      for by in ("size", "flags", "depth", "beside", "cgroup", "process", "priority", "operation") for engine in ("bpf", "kmod")),
    *(Row(f"blklat {engine}, slow{owners}", about) for owners, about in ((", no owners", "of slow IOs, none is"), ("", "and who sent each"))
      for engine in ("bpf", "kmod")),
    *(Row(f"blklat {engine}, slow by depth", "and each one's company kept") for engine in ("bpf", "kmod")),
    Row("biolatency", "of libbpf-tools, default options", reference=1416),
    Row("biolatency, 1 device", "of libbpf-tools, -d"),
    Row("blklat bpf, 4 devices", "one busy, the others idle"),
    Row("blklat kmod, 4 devices", "one busy, the others idle"),
    Row("blklat bpf, 3 stages", "device, queue, total"),
    Row("blklat kmod, 3 stages", "device, queue, total"),
    *(Row(f"blklat {engine}, {stages}", about) for stages, about in (("total", "stage total alone"), ("wait", "stages total and wait"))
      for engine in ("bpf", "kmod")),
    Row("blklat bpf and kmod", "both engines at once"),
)


class Failure(Exception):
    """The benchmark itself failed: what, why, what to do."""


def options():
    p = argparse.ArgumentParser(prog="bench_vm.py", description=__doc__.split("\n", 1)[0])
    p.add_argument("--build", default=os.environ.get("O", "build"), metavar="DIR", help="where blklat was built")
    p.add_argument("--kernel", default="6.1", metavar="KERNEL", help="one of tests/vm/vm.py (default 6.1)")
    p.add_argument("--ios", type=int, default=20000, metavar="N", help="of a run (default 20000)")
    p.add_argument("--runs", type=int, default=3, metavar="N", help="of each contender (default 3)")
    p.add_argument("--contenders", metavar="NAME,...", help="only these, besides 'none'")
    p.add_argument("--timeout", type=float, default=600, metavar="S", help="of the guest (default 600)")
    o = p.parse_args()
    # A name may have a comma in it, followed by a space.
    o.contenders = [n.replace("\0", ", ") for n in o.contenders.replace(", ", "\0").split(",")] if o.contenders else []
    unknown = set(o.contenders) - {r.name for r in ROWS}
    if unknown:
        p.error(f"no contender '{unknown.pop()}': there are {', '.join(repr(r.name) for r in ROWS)}")
    if o.ios < 1 or o.runs < 1:
        p.error("--ios and --runs are above 0")
    o.build = pathlib.Path(o.build).resolve()
    return o


def vm(*argv, env=None, **how):
    return subprocess.run([*VM, *map(str, argv)], text=True, env=os.environ | (env or {}), **how)


def build_module(o):
    """Returns the path of blklat.ko for the kernel."""
    done = vm("build-kmod", o.kernel, env={"O": str(o.build)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failure(f"the module could not be built for kernel {o.kernel}:\n{done.stdout.strip()}")
    return done.stdout.split()[-1]


def measured(o, module):
    """The results of vm_guest.py; its progress goes to a terminal."""
    with tempfile.TemporaryDirectory(prefix="blklat-bench-") as folder:
        done = vm("run", o.kernel, "--icount", "--timeout", o.timeout, "--out", folder, "--",
                  sys.executable, "-B", HERE / "vm_guest.py", o.build, module, o.ios, o.runs, *o.contenders,
                  stdout=None if sys.stderr.isatty() else subprocess.DEVNULL)
        path = pathlib.Path(folder, "measured.json")
        if done.returncode or not path.exists():
            said = pathlib.Path(folder, "output")
            text = said.read_text(errors="replace").strip() if said.exists() else "it never started"
            raise Failure(f"the guest ended with status {done.returncode}; it said:\n{text}")
        return json.loads(path.read_text())


def above(runs, base):
    """Instructions above no tool, run by run: fio's n-th run always differs a little from its first."""
    return [found - without for found, without in zip(runs, base)]


def figures(raw, o):
    """Each contender's cost against its target; None for what was not measured."""
    none, again = (raw["runs"].get(n) for n in ("none", "none again"))
    if not none or not again:
        raise Failure(f"nothing to compare with: {next(iter(raw['not_measured'].values()))}")
    # Measured before and after all others.
    base = [(a + b) / 2 for a, b in zip(none, again)]
    rows = []
    for row in ROWS:
        if o.contenders and row.name not in o.contenders:
            continue
        runs = raw["runs"].get(row.name)
        costs = above(runs, base) if runs else None
        cost = round(statistics.median(costs), 1) if costs else None
        rows.append({"contender": row.name, "about": row.about, "instructions": cost,
                     "spread": round(max(costs) - min(costs), 1) if costs else None, "target": row.target,
                     "met": cost <= row.target if costs and row.target else None, "reference": row.reference,
                     "runs": runs, "not_measured": raw["not_measured"].get(row.name)})
    drift = max(abs(a - b) for a, b in zip(none, again))
    # Asked here: in the guest the clock leaps while a program is loaded, so that a time limit passes at once.
    versions = {"blklat": version(f"{o.build}/blklat"), "fio": version("fio"),
                "libbpf-tools": package_version("libbpf-tools")}
    return {"schema": 1, "kernel": raw["kernel"], "versions": versions, "ios": o.ios, "runs": o.runs,
            "none": {"instructions": round(statistics.median(base), 1), "drift": round(drift, 1),
                     "runs": [none, again]},
            "contenders": rows}


def line_of(row):
    if row["instructions"] is None:
        return f"{row['contender']:28} not measured: {row['not_measured']}"
    aim = f"<= {row['target']}" if row["target"] else f"({row['reference']})" if row["reference"] else ""
    verdict = {None: row["about"], True: "met", False: "MISSED"}[row["met"]]
    return f"{row['contender']:28} {row['instructions']:+9.1f} {row['spread']:7.1f} {aim:>8}   {verdict}".rstrip()


def table(result):
    none = result["none"]
    lines = [
        f"Instructions an IO, counted by QEMU -icount: 4 KiB random reads, psync, kernel {result['kernel']}",
        "null_blk without a scheduler, one CPU; " +
        ", ".join(f"{k} {v}" for k, v in result["versions"].items() if v),
        f"Medians of {result['runs']} runs of {result['ios']} IOs; none takes {none['instructions']:.1f} in pread(), "
        f"{none['drift']:.1f} different before and after",
        "",
        f"{'':28} {'above none':>9} {'spread':>6} {'target':>8}",
    ]
    lines += [line_of(row) for row in result["contenders"]]
    return "\n".join([*lines, "", "In brackets: in an earlier trial, on another machine"])


def main():
    try:
        o = options()
        result = figures(measured(o, build_module(o)), o)
    except Failure as e:
        print(f"bench-vm: {e}", file=sys.stderr)
        return 1
    (o.build / "bench-vm.json").write_text(json.dumps(result, indent=1) + "\n")
    print(table(result))
    return 1 if any(row["instructions"] is None for row in result["contenders"]) else 0


if __name__ == "__main__":
    sys.exit(main())
