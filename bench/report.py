# SPDX-License-Identifier: GPL-2.0-only
"""From rows to medians, ratios and a table of 80 columns."""
import statistics

# (what, the figure's key, how the target compares, the target, how to show both)
TARGETS = [
    ("cost per IO, of biolatency's", "cost_of_biolatency", "<=", 0.36, "{:.2f}"),
    ("cost per IO, of the floor", "cost_of_floor", "<=", 1.6, "{:.2f}"),
    ("IOPS, of those without", "iops_of_none", ">=", 0.97, "{:.3f}"),
    ("one drain, median", "drain_us", "<", 200, "{:.0f} us"),
    ("CPU time, of one core", "cpu_percent", "<", 0.3, "{:.2f} %"),
    ("memory besides the counters", "memory_mib", "<", 24, "{:.1f} MiB"),
    ("first line, beyond the interval", "first_line_s", "<", 1.5, "{:.2f} s"),
    ("recording an interval, CPU time", "recording_ms", "<", 1, "{:.2f} ms"),
    ("recording, a series and interval", "recording_bytes", "<", 1024, "{:.0f} B"),
]


def values(rows, name, key):
    """{round: value} of one contender."""
    return {r["round"]: r[key] for r in rows if r["contender"] == name and r[key] is not None}


def median(rows, name, key):
    v = values(rows, name, key)
    return statistics.median(v.values()) if v else None


def ratios(rows, name, of, key):
    """Ratios of the two in the same round: what a shared machine does to one it does to both."""
    v, w = values(rows, name, key), values(rows, of, key)
    return [v[n] / w[n] for n in v if n in w]


def median_or_none(values):
    return statistics.median(values) if values else None


def figures(raw):
    """What the targets speak of; None for what was not measured."""
    cost, iops, daemon, drain, recording = (raw[k] for k in ("cost", "iops", "daemon", "drain", "recording"))
    return {
        "cost_of_biolatency": median_or_none(ratios(cost, "blklat", "biolatency", "ns_per_io")),
        "cost_of_floor": median_or_none(ratios(cost, "blklat", "floor", "ns_per_io")),
        "iops_of_none": median_or_none(ratios(iops, "blklat", "none", "iops")),
        "drain_us": drain and drain["wall_us"]["p50"],
        "cpu_percent": daemon and daemon["cpu_share"] * 100,
        "memory_mib": daemon and daemon["resident_other_bytes"] / (1 << 20),
        "first_line_s": daemon and daemon["first_line_median_s"],
        "recording_ms": recording and max(r["cpu_us"]["p50"] for r in recording.values()) / 1000,
        "recording_bytes": recording and max(r["bytes_a_series"] for r in recording.values()),
    }


def verdicts(raw):
    """Each target with what was measured: met is None where nothing was."""
    found = figures(raw)
    compare = {"<=": lambda a, b: a <= b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b}
    return [{"what": what, "figure": key, "measured": found[key], "target": f"{sign} {shape.format(limit)}",
             "shown": "not measured" if found[key] is None else shape.format(found[key]),
             "met": None if found[key] is None else compare[sign](found[key], limit)}
            for what, key, sign, limit, shape in TARGETS]


def span(found, shape):
    return f"{shape.format(min(found))}..{shape.format(max(found))}" if found else ""


def noise(iops):
    """How the rounds without a tool spread around their median: no ratio is better than that."""
    found = list(values(iops, "none", "iops").values())
    return [v / statistics.median(found) for v in found]


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
    rows = raw["cost"] + raw["iops"]
    others = max((r["other_ios"] / r["ios"] for r in rows), default=0)
    steal = max((r["steal"] for r in rows), default=0)
    accounts = [a for r in rows for a in r.get("accounting", [])]
    seen, lost = (sum(a[k] for a in accounts) for k in ("completed", "lost"))
    reasons = sorted({reason for a in accounts for reason in a["lost_by"]})
    if others > 0.01:
        yield f"other disks were busy, up to {others:.0%} of our IOs: costs show too high"
    spread = noise(raw["iops"])
    if spread and max(spread) - min(spread) > 0.1:
        yield "without a tool IOPS spread by more than 10 %: not a quiet machine, IOPS say little"
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
    lines += ["", f"{'blklat':33} {'measured':>12} {'target':>12}"]
    for t in raw["results"]:
        word = {None: "", True: "met", False: "MISSED"}[t["met"]]
        lines.append(f"{t['what']:33} {t['shown']:>12} {t['target']:>12}   {word}".rstrip())
    lines += [""] + list(recording_lines(raw["recording"] or {})) + list(warnings(raw))
    return "\n".join(lines).rstrip()
