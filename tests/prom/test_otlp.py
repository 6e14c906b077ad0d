# SPDX-License-Identifier: GPL-2.0-only
"""What is pushed to OpenTelemetry: the counts of /metrics, at each moment, under the names that a store makes Prometheus' of again."""
import collections

import pytest
from script import SCRIPTS, recorded, write_recording

import otlp
import wire
from player import PROTOBUF, START, ZERO, Player, native_of, number_of, random_ios, script_of

UNITS = {"s": "_seconds", "By": "_bytes", "": ""}
KINDS = {"sum": "counter", "gauge": "gauge", "histogram": "histogram"}


def name_in_prometheus(m):
    """By the rules of OpenTelemetry's specification: dots to underscores, the unit, _total."""
    return m["name"].replace(".", "_") + UNITS[m["unit"]] + ("_total" if m["kind"] == "sum" else "")


def ours(metrics):
    return [m for name, m in metrics.items() if name.startswith("blklat.")]


@pytest.mark.parametrize("path", map(recorded, SCRIPTS), ids=[s.stem for s in SCRIPTS])
def test_counts_are_those_of_the_exposition(path):
    """Of each metric, each series, and each bucket at the scale of the bins, after every interval."""
    with Player("6") as p:
        p.open(path)
        while p.tick():
            families, (_, _, metrics) = wire.families(p.get(PROTOBUF)[1]), otlp.pushed(p.otlp())
            assert {(name_in_prometheus(m), KINDS[m["kind"]], m["description"]) for m in ours(metrics)} == {
                (name, f["type"], f["help"]) for name, f in families.items()}
            for m in ours(metrics):
                exposed = {tuple(x["labels"].items()): x for x in families[name_in_prometheus(m)]["metric"]}
                assert exposed.keys() == {tuple(x["attributes"].items()) for x in m["points"]}
                for one in m["points"]:
                    other = exposed[tuple(one["attributes"].items())]
                    if m["kind"] != "histogram":
                        assert one["value"] == next(other[kind]["value"] for kind in ("gauge", "counter") if kind in other)
                        continue
                    other = other["histogram"]
                    assert otlp.counts(one) == {i: n for i, n in wire.buckets(other).items() if n}
                    assert [one[name] for name in ("count", "sum", "scale", "zero_count", "zero_threshold")] == [
                        other[name] for name in ("sample_count", "sample_sum", "schema", "zero_count", "zero_threshold")]
                    assert [(e["value"], e["attributes"], divmod(e["time"], 10 ** 9)) for e in one["exemplars"]] == [
                        (e["value"], {x["name"]: x["value"] for x in e["label"]}, tuple(e["timestamp"].values())) for e in other["exemplars"]]


def test_buckets_are_those_of_the_latencies(tmp_path):
    """Bucket i of scale 6 is (2^(i / 64), 2^((i + 1) / 64)] s, by integer arithmetic; sums and times by the script."""
    ios = random_ios(11)
    with Player("6") as p:
        p.open(script_of(tmp_path / "s", ios, ticks=3))
        while p.tick():
            pass
        resource, scope, metrics = otlp.pushed(p.otlp())
    assert resource == {"host.name": "host1", "service.instance.id": "host1", "service.name": "blklat", "service.version": "1.2.3"}
    assert scope == {"name": "blklat", "version": "1.2.3"}
    assert (metrics["blklat.io.latency"]["unit"], metrics["blklat.io"]["unit"]) == ("s", "By")
    for h in metrics["blklat.io.latency"]["points"]:
        values = [ns for op, ns in ios if op == h["attributes"]["op"]]
        zero, wanted = native_of(values, 6)
        assert (otlp.counts(h), h["zero_count"], h["count"]) == (wanted, zero, len(values))
        assert h["sum"] == pytest.approx(sum(values) / 1e9, rel=1e-15)
        assert (h["scale"], h["zero_threshold"]) == (6, ZERO)
        assert (h["start"], h["time"]) == (START * 10 ** 9, (START + 3) * 10 ** 9)
    one = next(h for h in metrics["blklat.io.latency"]["points"] if h["attributes"]["op"] == "read")
    assert one["positive"]["counts"][0] and one["positive"]["counts"][-1]
    assert one["positive"]["offset"] == min(number_of(ns, 6) for op, ns in ios if op == "read" and ns > 14) - 1


@pytest.mark.parametrize("by", ("whole", "size"))
def test_conventional_names_have_each_io_once(tmp_path, by):
    """Reads and writes of a device's first stage, whatever it is; other ops have no direction."""
    facts = ["by size"] if by == "size" else []
    path = write_recording("\n".join([
        "blklat-replay 1", "engine bpf", "start 2026-11-21T07:35:00.000Z", *facts, "device sda", "device md0", "watch sda device", "watch sda total",
        "watch md0 total", "on sda device", "io read 1ms 4096 x5", "io write 3ms 65536 x2", "io flush 1ms 0", "on sda total", "io read 2ms 4096 x9",
        "on md0 total", "io read 4ms 8192 x3", "tick 1"]), tmp_path / "s")
    with Player() as p:
        p.open(path)
        p.tick()
        metrics = otlp.pushed(p.otlp())[2]
    found = collections.Counter()
    for name, unit in (("system.disk.operations", "{operation}"), ("system.disk.io", "By"), ("system.disk.operation_time", "s")):
        assert (metrics[name]["kind"], metrics[name]["unit"]) == ("sum", unit)
        for one in metrics[name]["points"]:
            a = one["attributes"]
            assert a.keys() - {"size"} == {"system.device", "disk.io.direction"}
            found[name.rsplit(".", 1)[1], a["system.device"], a["disk.io.direction"]] += one["value"]
    assert dict(found) == {k: pytest.approx(v) for k, v in {
        ("operations", "sda", "read"): 5, ("operations", "sda", "write"): 2, ("operations", "md0", "read"): 3,
        ("operations", "md0", "write"): 0, ("io", "sda", "read"): 5 * 4096, ("io", "sda", "write"): 2 * 65536, ("io", "md0", "read"): 3 * 8192,
        ("io", "md0", "write"): 0, ("operation_time", "sda", "read"): 0.005, ("operation_time", "sda", "write"): 0.006,
        ("operation_time", "md0", "read"): 0.012, ("operation_time", "md0", "write"): 0}.items()}
