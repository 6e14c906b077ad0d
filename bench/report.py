# SPDX-License-Identifier: GPL-2.0-only
"""From rows to medians, ratios and a table of 80 columns."""
import operator
import statistics

import scale

# (what, the figure's key, how the target compares, the target, how to show both)
TARGETS = [
    ("cost per IO, of biolatency's", "cost_of_biolatency", "<=", 0.36, "{:.2f}"),
    ("cost per IO, of the floor", "cost_of_floor", "<=", 1.3, "{:.2f}"),
    ("stage total, of biolatency's", "total_of_biolatency", "<=", 0.6, "{:.2f}"),
    ("three stages, of biolatency's", "stages_of_biolatency", "<=", 0.85, "{:.2f}"),
    ("stage wait beside total, an IO", "wait_ns", "<=", 60, "{:.1f} ns"),
    ("with a standby, of biolatency's", "standby_of_biolatency", "<=", 0.45, "{:.2f}"),
    ("--by size, a program's run", "by_size_ns", "<=", 10, "{:.1f} ns"),
    ("--by flags, a program's run", "by_flags_ns", "<=", 10, "{:.1f} ns"),
    ("--by depth, an IO", "by_depth_ns", "<=", 60, "{:.1f} ns"),
    ("--by beside, an IO", "by_beside_ns", "<=", 60, "{:.1f} ns"),
    ("--by cgroup, an IO", "by_cgroup_ns", "<=", 60, "{:.1f} ns"),
    ("--slow, an IO that is not", "slow_ns", "<=", 5, "{:.1f} ns"),
    ("--slow, and who sent it", "slow_owners_ns", "<=", 160, "{:.1f} ns"),
    ("bios of zram, of bpftrace's", "zram_of_bpftrace", "<=", 0.6, "{:.2f}"),
    ("bios of dm, of bpftrace's", "dm_of_bpftrace", "<=", 0.6, "{:.2f}"),
    ("IOPS, of those without", "iops_of_none", ">=", 0.97, "{:.3f}"),
    ("one drain, median", "drain_us", "<", 200, "{:.0f} us"),
    ("CPU time, of one core", "cpu_percent", "<", 0.3, "{:.2f} %"),
    ("memory besides the counters", "memory_mib", "<", 24, "{:.1f} MiB"),
    ("first line, beyond the interval", "first_line_s", "<", 1.5, "{:.2f} s"),
    ("recording an interval, CPU time", "recording_ms", "<", 1, "{:.2f} ms"),
    ("recording, a series and interval", "recording_bytes", "<", 1024, "{:.0f} B"),
    ("1000 devices: CPU time of a core", "many_cpu_percent", "<", 5, "{:.1f} %"),
    ("1000 devices: to the first line", "many_first_line_s", "<", 3, "{:.2f} s"),
    ("1000 devices: besides counters", "many_memory_mib", "<", 64, "{:.1f} MiB"),
]
# Figures that are ratios: their rows, who is compared with whom, and by which key.
RATIOS = {
    "cost_of_biolatency": ("cost", "blklat", "biolatency", "ns_per_io"),
    "cost_of_floor": ("cost", "blklat", "floor", "ns_per_io"),
    "total_of_biolatency": ("cost", "blklat total", "biolatency", "ns_per_io"),
    "stages_of_biolatency": ("cost", "blklat 3 stages", "biolatency", "ns_per_io"),
    "standby_of_biolatency": ("cost", "blklat 1 standby", "biolatency", "ns_per_io"),
    "zram_of_bpftrace": ("zram", "blklat", "bpftrace", "ns_per_io"),
    "dm_of_bpftrace": ("dm", "blklat", "bpftrace", "ns_per_io"),
    "iops_of_none": ("iops", "blklat", "none", "iops"),
}


# The same for figures that are differences.
DIFFERENCES = {
    "wait_ns": ("cost", "blklat wait", "blklat total", "ns_per_io"),
    "by_size_ns": ("cost", "blklat by size", "blklat", "ns_per_run"),
    "by_flags_ns": ("cost", "blklat by flags", "blklat", "ns_per_run"),
    "by_depth_ns": ("cost", "blklat by depth", "blklat", "ns_per_io"),
    "by_beside_ns": ("cost", "blklat by beside", "blklat", "ns_per_io"),
    "by_cgroup_ns": ("cost", "blklat by cgroup", "blklat", "ns_per_io"),
    "slow_ns": ("cost", "blklat slow", "blklat", "ns_per_io"),
    "slow_owners_ns": ("cost", "blklat slow owners", "blklat slow", "ns_per_io"),
}


def values(rows, name, key):
    """{round: value} of one contender."""
    return {r["round"]: r[key] for r in rows if r["contender"] == name and r[key] is not None}


def median(rows, name, key):
    v = values(rows, name, key)
    return statistics.median(v.values()) if v else None


def ratios(rows, name, of, key, compare=operator.truediv):
    """Ratios of the two in the same round, since a shared machine affects both."""
    v, w = values(rows, name, key), values(rows, of, key)
    return [compare(v[n], w[n]) for n in v if n in w]


def compared(raw, key):
    """Ratios or differences, round by round, of the figure @key."""
    rows, *rest = (RATIOS | DIFFERENCES)[key]
    return ratios(raw[rows], *rest, operator.truediv if key in RATIOS else operator.sub)


def median_or_none(values):
    return statistics.median(values) if values else None


def figures(raw):
    """The figures that have targets; None for what was not measured."""
    daemon, drain, recording, many = (raw[k] for k in ("daemon", "drain", "recording", "many"))
    return {key: median_or_none(compared(raw, key)) for key in RATIOS | DIFFERENCES} | {
        "drain_us": drain and drain["wall_us"]["p50"],
        "cpu_percent": daemon and daemon["cpu_share"] * 100,
        "memory_mib": daemon and daemon["resident_other_bytes"] / (1 << 20),
        "first_line_s": daemon and daemon["first_line_median_s"],
        "recording_ms": recording and max(r["cpu_us"]["p50"] for r in recording.values()) / 1000,
        "recording_bytes": recording and max(r["bytes_a_series"] for r in recording.values()),
        "many_cpu_percent": many and many["cpu_share"] * 100,
        "many_first_line_s": many and many["first_line_s"],
        "many_memory_mib": many and many["resident_other_bytes"] / (1 << 20),
    }


def spread(found):
    """The interquartile range over the rounds."""
    if len(found) < 2:
        return float("inf")
    low, _, high = statistics.quantiles(found, n=4, method="inclusive")
    return high - low


def is_noisy(raw, key, measured, limit):
    """Whether a figure varies more between rounds than its median differs from the target, so that it decides nothing."""
    if key not in RATIOS | DIFFERENCES or measured is None:
        return False
    return spread(compared(raw, key)) > abs(measured - limit)


def verdicts(raw):
    """Each target with its measured value; met is None where nothing was measured, or noise hides the answer."""
    found = figures(raw)
    compare = {"<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b}
    results = []
    for what, key, sign, limit, shape in TARGETS:
        noisy = is_noisy(raw, key, found[key], limit)
        results.append({
            "what": what, "figure": key, "measured": found[key], "target": f"{sign} {shape.format(limit)}",
            "shown": "not measured" if found[key] is None else shape.format(found[key]), "noisy": noisy,
            "met": None if found[key] is None or noisy else compare[sign](found[key], limit)})
    return results


def restless(raw, results):
    """For each noisy figure, how far the values of its contenders spread."""
    said = set()
    for rows, *names, key in ((RATIOS | DIFFERENCES)[r["figure"]] for r in results if r["noisy"]):
        for name in names:
            found = list(values(raw[rows], name, key).values())
            if name not in said and found and max(found) > 1.1 * min(found):
                said.add(name)
                yield f"{name} took {min(found):.0f} to {max(found):.0f} ns" if key != "iops" else \
                    f"{name} did {min(found):,.0f} to {max(found):,.0f} IOPS"


def span(found, shape):
    return f"{shape.format(min(found))}..{shape.format(max(found))}" if found else ""


def noise(iops):
    """How the rounds without a tool spread around their median: no ratio can be more exact."""
    found = list(values(iops, "none", "iops").values())
    return [v / statistics.median(found) for v in found]


def bio_lines(raw):
    """Lines about the devices without requests."""
    for kind in "zram", "dm":
        for name in ("blklat", "bpftrace") if raw[kind] or kind in raw["skipped"] else ():
            found = list(values(raw[kind], name, "ns_per_io").values())
            if found:
                yield f"{name + ', ' + kind:17} {statistics.median(found):>8.0f} {span(found, '{:.0f}'):>11}"
        if kind in raw["skipped"]:
            yield f"{kind:17} skipped: {raw['skipped'][kind]}"[:80]


def contender_line(raw, name):
    cost, iops = raw["cost"], raw["iops"]
    if name in raw["skipped"]:
        return f"{name:17} skipped: {raw['skipped'][name]}"[:80]
    ns, rate = median(cost, name, "ns_per_io"), median(iops, name, "iops")
    ns_all = list(values(cost, name, "ns_per_io").values())
    of_none = ratios(iops, name, "none", "iops") if name != "none" else noise(iops)
    cells = ["-" if ns is None else f"{ns:.0f}", span(ns_all, "{:.0f}"),
             "-" if rate is None else f"{rate:,.0f}",
             "-" if not of_none else f"{statistics.median(of_none):.3f}", span(of_none, "{:.2f}")]
    return f"{name:17} {cells[0]:>8} {cells[1]:>10} {cells[2]:>10} {cells[3]:>8} {cells[4]:>11}".rstrip()


def warnings(raw):
    rows = raw["cost"] + raw["iops"] + raw["zram"] + raw["dm"]
    others = max((r["other_ios"] / r["ios"] for r in rows), default=0)
    steal = max((r["steal"] for r in rows), default=0)
    accounts = [a for r in rows for a in r.get("accounting", [])]
    seen, lost = (sum(a[k] for a in accounts) for k in ("completed", "lost"))
    reasons = sorted({reason for a in accounts for reason in a["lost_by"]})
    if others > 0.01:
        yield f"other disks were busy, up to {others:.0%} of our IOs: costs show too high"
    without = noise(raw["iops"])
    if without and max(without) - min(without) > 0.1:
        yield "without a tool IOPS spread by more than 10 %: not a quiet machine, IOPS say little"
    unsteady = list(restless(raw, raw["results"]))
    if any(r["noisy"] for r in raw["results"]):
        yield "not judged: the rounds differ by more than what is missing to the target, or to spare"
    for line in unsteady:
        yield f"  {line}"
    if steal > 0.02:
        yield f"the host took up to {steal:.0%} of the CPUs' time"
    if seen:
        why = f" ({', '.join(reasons)})" if lost else ""
        yield f"blklat counted {seen:,} IOs in these runs and lost {lost:,}{why}"


def recording_lines(recording):
    for name, r in recording.items():
        yield (f"recorded at {name + ',':13} {r['ios'] / r['intervals']:>9,.0f} IOs an interval: "
               f"{r['bytes_a_series']:.0f} B, {r['cpu_us']['p50'] / 1000:.2f} ms")


def table(raw):
    m, v, o = raw["machine"], raw["versions"], raw["options"]
    lines = [
        f"Loop device on tmpfs, 4 KiB random reads, io_uring, QD 32; kernel {m['kernel']}",
        f"{m['cpu']}, {m['cpus']} CPUs"[:80],
        ", ".join(f"{k} {v[k]}" for k in v if v[k]),
        f"Medians of {o['rounds']} (IOPS: {o['iops_rounds']}) interleaved rounds of {o['seconds']:g} s; ratios within a round",
        "",
        f"{'':17} {'ns an IO':>8} {'least..most':>11} {'IOPS':>9} {'of none':>8} {'least..most':>11}",
    ]
    lines += [contender_line(raw, name) for name in raw["contenders"]]
    lines += bio_lines(raw)
    lines += ["", f"{'blklat':33} {'measured':>12} {'target':>12}"]
    for t in raw["results"]:
        word = "not judged" if t["noisy"] else {None: "", True: "met", False: "MISSED"}[t["met"]]
        lines.append(f"{t['what']:33} {t['shown']:>12} {t['target']:>12}   {word}".rstrip())
    lines += [""] + list(recording_lines(raw["recording"] or {})) + list(scale.lines(raw["scale"] or [])) + list(warnings(raw))
    return "\n".join(lines).rstrip()
