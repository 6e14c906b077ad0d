# SPDX-License-Identifier: GPL-2.0-only
"""The three formats, read back by independent code, against figures computed from the scripts."""
import bisect
import collections
import json
import math
import re
import subprocess
from fractions import Fraction

import pytest
from asked import BLKLAT
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from script import SCRIPTS, recorded

import tools
import wire
from player import (LATENCY, OPENMETRICS, PROTOBUF, START, TEXT, ZERO, Player, exposed_totals, native_of, played, random_ios, script,
                    script_of)

FIGURES = ("ios", "bytes", "errors")


def totals_of(path):
    """Running totals at each interval of 'blklat live', without parts: {(device, stage, op): (IOs, bytes, errors)}."""
    r = subprocess.run([BLKLAT, "live", "--replay", path, "--format", "json"], capture_output=True, timeout=60)
    sums, left, ticks, seen = {}, {}, [], set()
    for line in map(json.loads, r.stdout.splitlines()):
        if "part" in line:
            continue
        watch = line["device"], line["stage"]
        if not ticks or watch in seen:
            ticks.append({})
            seen = set()
        seen.add(watch)
        for o in line["ops"]:
            sums.setdefault((*watch, o["op"]), collections.Counter()).update({n: o[n] for n in FIGURES})
        left[watch] = {(*watch, p["op"]): collections.Counter(bytes=p["bytes"], errors=p["errors"])
                       for p in line.get("partial", [])}
        for key in sums.keys() | left[watch].keys():
            if key[:2] == watch:
                total = sums.get(key, collections.Counter()) + left[watch].get(key, collections.Counter())
                ticks[-1][key] = tuple(total[n] for n in FIGURES)
    return ticks


@pytest.mark.parametrize("path", map(recorded, SCRIPTS), ids=[s.stem for s in SCRIPTS])
def test_totals_are_those_of_the_intervals(path):
    """At each moment, including what unfinished IOs have done in the intervals; and totals never fall."""
    before = {}
    with Player() as p:
        p.open(path)
        for expected in totals_of(path):
            assert p.tick()
            totals = exposed_totals(p.get(TEXT)[1].decode())
            present = {key[:2] for key in totals}  # without one that has just gone
            assert {key: v for key, v in totals.items() if any(v)} == {
                key: v for key, v in expected.items() if key[:2] in present}
            assert all(a <= b for key, v in before.items() for a, b in zip(v, totals.get(key, v)))
            before = totals
    assert before or path.stem == "gone"


def histogram_of(families, **labels):
    found = [m["histogram"] for m in families[LATENCY]["metric"] if labels.items() <= m["labels"].items()]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("schema", range(7))
def test_native_buckets_are_those_of_the_latencies(tmp_path, schema):
    ios = random_ios(schema)
    families = wire.families(played(script_of(tmp_path / "s", ios, ticks=3), PROTOBUF, str(schema)))
    assert families[LATENCY]["type"] == "histogram"
    for op in ("read", "write"):
        values = [ns for o, ns in ios if o == op]
        h = histogram_of(families, op=op, device="nvme0n1", stage="device")
        zero, wanted = native_of(values, schema)
        got = wire.buckets(h)
        assert {i: n for i, n in got.items() if n} == wanted
        assert (h["schema"], h["zero_threshold"], h["zero_count"]) == (schema, ZERO, zero)
        assert h["sample_count"] == len(values) == sum(got.values()) + zero
        assert h["sample_sum"] == pytest.approx(sum(values) / 1e9, rel=1e-15)
        assert h["created_timestamp"] == {"seconds": START, "nanos": 0}


def test_spans_bridge_short_gaps_only(tmp_path):
    """Buckets -80, -79, -77, -74 and -70 of schema 3: gaps of one or two empty buckets are sent, of three are not."""
    ios = [("read", int(10 ** 9 * 2 ** ((i - 0.5) / 8))) for i in (-80, -79, -77, -74, -70, -70, 0)]
    h = histogram_of(wire.families(played(script_of(tmp_path / "s", ios), PROTOBUF)), op="read")
    assert h["positive_span"] == [{"offset": -80, "length": 7}, {"offset": 3, "length": 1}, {"offset": 69, "length": 1}]
    assert h["positive_delta"] == [1, 0, -1, 1, -1, 0, 1, 1, -1]


def test_a_capture_coarser_than_the_schema_lowers_it(tmp_path):
    ios = random_ios(3)
    families = wire.families(played(script_of(tmp_path / "s", ios, scale=2), PROTOBUF, "5"))
    h = histogram_of(families, op="read")
    assert h["schema"] == 2
    assert {i: n for i, n in wire.buckets(h).items() if n} == native_of([ns for o, ns in ios if o == "read"], 2)[1]


def classic_bounds(classic):
    """le * 10^9 of each bound in whole ns: floor(10^9 * 2^(k / 2^classic)) from 2^-20 s to 2^5 s."""
    power = 2 ** classic
    bounds = []
    for k in range(-20 * power, 5 * power + 1):
        x = Fraction(10 ** (9 * power)) * Fraction(2) ** k
        root = x.numerator // x.denominator
        for _ in range(classic):
            root = math.isqrt(root)
        bounds.append(root)
    return bounds


def check_classic(buckets, count, total, values, classic):
    """buckets: [(le as text or number, ios)], the last with +Inf."""
    assert [Fraction(str(le)) * 10 ** 9 for le, _ in buckets[:-1]] == classic_bounds(classic)
    assert buckets[-1][0] in ("+Inf", math.inf)
    ordered = sorted(values)
    for le, ios in buckets[:-1]:
        assert ios == bisect.bisect_right(ordered, Fraction(str(le)) * 10 ** 9), le
    assert buckets[-1][1] == count == len(values)
    assert total == pytest.approx(sum(values) / 1e9, rel=1e-15)


@pytest.mark.parametrize("scale", (0, 6))
@pytest.mark.parametrize("accept,read", ((OPENMETRICS, read_openmetrics), (TEXT, read_text)),
                         ids=("openmetrics", "text"))
def test_classic_buckets_of_the_texts(tmp_path, accept, read, scale):
    ios = random_ios(10 + scale)
    body = played(script_of(tmp_path / "s", ios, ticks=2, scale=scale), accept).decode()
    family = {f.name: f for f in read(body)}[LATENCY]
    assert family.type == "histogram"
    assert family.documentation.endswith(".")
    for op in ("read", "write"):
        samples = [s for s in family.samples if s.labels["op"] == op]
        of = collections.defaultdict(list)
        for s in samples:
            assert {"device": "nvme0n1", "stage": "device"}.items() <= s.labels.items()
            of[s.name[len(LATENCY):]].append(s)
        assert set(of) == {"_bucket", "_sum", "_count"} | ({"_created"} if accept == OPENMETRICS else set())
        check_classic([(s.labels["le"], s.value) for s in of["_bucket"]], of["_count"][0].value, of["_sum"][0].value,
                      [ns for o, ns in ios if o == op], min(scale, 1))
        if accept == OPENMETRICS:
            assert of["_created"][0].value == START


def test_protobuf_has_classic_buckets_too(tmp_path):
    ios = random_ios(4)
    path = script_of(tmp_path / "s", ios)
    h = histogram_of(wire.families(played(path, PROTOBUF)), op="write")
    buckets = [(b["upper_bound"], b["cumulative_count"]) for b in h["bucket"]] + [(math.inf, h["sample_count"])]
    values = [ns for o, ns in ios if o == "write"]
    # The shortest text of the double is the bound, the same number as le in the text formats.
    check_classic([(repr(le), n) if n != len(values) else (le, n) for le, n in buckets], h["sample_count"],
                  h["sample_sum"], values, 1)


def test_bounds_have_one_name_in_all_formats(tmp_path):
    """Prometheus names a bound of protobuf by its shortest text, as Python does: no series changes with the format."""
    path = script_of(tmp_path / "s", random_ios(5))
    bounds = [repr(b["upper_bound"]) for b in histogram_of(wire.families(played(path, PROTOBUF)), op="read")["bucket"]]
    for accept in (OPENMETRICS, TEXT):
        les = re.findall(r'op="read".*le="(.*?)"', played(path, accept).decode())
        assert les == bounds + ["+Inf"]


BUSY = """\
io read 100us 4096 x10 errors=2
io write 1ms 8192 x5
io flush 2ms 0 x3
account requeued 4
account no_start 2
account tag_range 1
in-flight 7 oldest=31.5s
busy 250ms
on sda queue
io read 2us 4096 x10
on loop0 device
in-flight 1 oldest=250ms
tick 1
on sda device
io read 100us 4096 x10 errors=1
account requeued 1
in-flight 6 oldest=32.5s
busy 2s
tick 2
""".splitlines()

# (family, labels) -> value, worked out by hand. Started: 18 + 7 in flight + 3 lost, then 10 - 1 more.
WANTED = {
    ("blklat_io_bytes_total", "sda read device"): 20 * 4096,
    ("blklat_io_bytes_total", "sda write device"): 5 * 8192,
    ("blklat_io_bytes_total", "sda flush device"): 0,
    ("blklat_io_bytes_total", "sda read queue"): 10 * 4096,
    ("blklat_io_bytes_total", "loop0 write device"): 0,
    ("blklat_io_errors_total", "sda read device"): 3,
    ("blklat_io_errors_total", "sda write device"): 0,
    ("blklat_io_requeues_total", "sda device"): 5,
    ("blklat_io_requeues_total", "loop0 device"): 0,
    ("blklat_io_lost_total", "sda no_start device"): 2,
    ("blklat_io_lost_total", "sda tag_range device"): 1,
    ("blklat_io_lost_total", "sda table_full device"): 0,
    ("blklat_io_lost_total", "loop0 no_start device"): 0,
    ("blklat_io_started_total", "sda device"): 28 + 6 + 3,
    ("blklat_io_in_flight", "sda device"): 6,
    ("blklat_io_in_flight", "loop0 device"): 1,
    ("blklat_io_oldest_age_seconds", "sda device"): 32.5,
    ("blklat_io_oldest_age_seconds", "loop0 device"): 0.25,
    ("blklat_io_queue_depth", "sda device"): 10 * 100e-6 / 2,
    ("blklat_io_queue_depth", "loop0 queue"): 0,
    ("blklat_build_info", "1.2.3"): 1,
    ("blklat_capture_info", "bpf"): 1,
    ("blklat_capture_drain_seconds_total", ""): 0.003,
    ("blklat_capture_intervals_total", ""): 2,
    ("blklat_capture_interval_seconds", ""): 1,
    ("blklat_capture_last_read_timestamp_seconds", ""): START + 3,
    ("blklat_device_busy_seconds_total", "sda device"): 2.25,
    ("blklat_device_info", "loop0 loop backing.img none"): 1,
    ("blklat_device_info", "sda disk Example SSD mq-deadline"): 1,
}
DEVICES = ["sda kind=disk model=\"Example SSD\" scheduler=mq-deadline",
           "loop0 kind=loop model=backing.img scheduler=none"]


def flat(labels):
    return " ".join(v for _, v in sorted(labels.items()) if v)


def flat_protobuf(body):
    return {(f["name"], flat(m["labels"])): m[f["type"]]["value"]
            for f in wire.families(body).values() for m in f["metric"] if f["type"] != "histogram"}


def flat_text(read):
    return lambda body: {(s.name, flat(s.labels)): s.value for f in read(body.decode()) for s in f.samples}


READERS = ((PROTOBUF, flat_protobuf), (OPENMETRICS, flat_text(read_openmetrics)), (TEXT, flat_text(read_text)))


@pytest.mark.parametrize("accept,read", READERS, ids=("protobuf", "openmetrics", "text"))
def test_every_other_figure(tmp_path, accept, read):
    got = read(played(script(tmp_path / "s", DEVICES, BUSY, stages=("device", "queue")), accept))
    assert {key: got.get(key) for key in WANTED} == WANTED
    # Ops that a device never had are left out, except reads and writes.
    assert ("blklat_io_bytes_total", "sda discard device") not in got
    assert ("blklat_io_bytes_total", "loop0 flush device") not in got


def test_formats_say_the_same(tmp_path):
    """Every sample of one format is in the others, with the same value."""
    path = script(tmp_path / "s", DEVICES, BUSY, stages=("device", "queue"))
    protobuf, openmetrics, text = (read(played(path, accept)) for accept, read in READERS)
    plain = {key: value for key, value in text.items() if not key[0].startswith(LATENCY)}
    assert plain == protobuf
    assert {key: value for key, value in openmetrics.items() if key[0] != f"{LATENCY}_created"} == text


def test_promtool_finds_nothing(tmp_path):
    body = played(script(tmp_path / "s", DEVICES, BUSY, stages=("device", "queue")), TEXT)
    r = subprocess.run([tools.find("promtool"), "check", "metrics"], input=body, capture_output=True, timeout=60)
    assert (r.returncode, r.stdout, r.stderr) == (0, b"", b"")


def test_openmetrics_has_units_and_an_end(tmp_path):
    path = script(tmp_path / "s", DEVICES, BUSY, stages=("device", "queue"))
    body = played(path, OPENMETRICS).decode()
    assert body.endswith("\n# EOF\n")
    units = dict(re.findall(r"^# UNIT (\S+) (\S+)$", body, re.M))
    assert units[LATENCY] == "seconds" and units["blklat_io_bytes"] == "bytes"
    assert all(name.endswith("_" + unit) for name, unit in units.items())
    names = re.findall(r"^# TYPE (\S+)", body, re.M)
    assert all(name in units for name in names if re.search("_(seconds|bytes)$", name))
    text = played(path, TEXT).decode()
    assert "UNIT" not in text and "_created" not in text and "EOF" not in text


def test_nothing_to_say_before_the_first_capture():
    with Player() as p:
        assert p.get(TEXT)[1] == b""
        assert p.get(OPENMETRICS)[1] == b"# EOF\n"
        assert p.get(PROTOBUF)[1] == b""
