# SPDX-License-Identifier: GPL-2.0-only
"""A host that divides its IOs by size, and one that doesn't: the IOs are the same, so all sums over series, rules and panels must be equal."""
import math
import random
import re

import pytest

import wire
from dashboard import KINDS, TARGETS, filled
from pair import played_to_both
from player import PROTOBUF, TEXT, exposed_totals, played, script

DRIVES = ("nvme0n1", "nvme1n1")
TICKS = 6
# Seven, so that the median does not fall between two of them.
BYTES = (512, 4096, 4097, 8192, 65536, 1 << 20, 3 << 20)
WIDTH = {"native": 2 ** (1 / 8), "classic": 2 ** (1 / 2)}
WHOLE = ("started_total", "requeues_total", "lost_total", "in_flight", "oldest_age_seconds", "queue_depth")

pytestmark = pytest.mark.xdist_group("hosts")


def size_of(count):
    kib = next((1 << i for i in range(2, 10) if count <= 1024 << i), None)
    return f"{kib} KiB" if kib else "1 MiB+"


def make_ios():
    """{(drive, op, bytes): [ns]}: larger ones take longer."""
    rng = random.Random(11)
    return {(drive, op, count): [int((40_000 + 10 * count) * rng.lognormvariate(0, 0.4)) for _ in range(n)]
            for drive in DRIVES for op, n in (("read", 600), ("write", 240)) for count in BYTES}


def write_script(path, ios, by):
    events = []
    for tick in range(TICKS):
        for (drive, op, count), values in ios.items():
            events += [f"on {drive} device", "in-flight 4 oldest=90us", f"io {op} {values[tick]}ns {count} errors=1",
                       *(f"io {op} {ns}ns {count}" for ns in values[tick + TICKS::TICKS])]
        events += [f"on {DRIVES[0]} device", "account requeued 2", "account tag_range 1", "tick 1"]
    return script(path, [f'{d} kind=nvme model="Example NVMe" queues=2 tags=64' for d in DRIVES], events, facts=["by size"] if by else [])


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The addresses of the hosts 'plain' and 'divided', and the two servers that scrape both."""
    folder, ios = tmp_path_factory.mktemp("parts"), make_ios()
    with played_to_both([write_script(folder / name, ios, name == "divided") for name in ("plain", "divided")], TICKS) as found:
        found.ios, found.addresses = ios, dict(zip(("plain", "divided"), found.addresses))
        yield found


def told(s, expression, **parameters):
    """{instance: {other labels: value}} of a query; a histogram's value is its number of IOs."""
    found = {}
    for labels, value in s.query(expression, **parameters):
        key = tuple(sorted((n, v) for n, v in labels.items() if n != "instance"))
        found.setdefault(labels.get("instance"), {})[key] = float(value["count"]) if isinstance(value, dict) else value
    return found


def ios_of(both, **of):
    """[ns] of all IOs with these labels; size is the part's."""
    return [ns for (drive, op, count), values in both.ios.items() for ns in values
            if of.items() <= {"device": drive, "op": op, "size": size_of(count)}.items()]


@pytest.mark.parametrize("kind", KINDS)
def test_each_part_has_its_ios(both, kind):
    s, a = getattr(both, kind), both.addresses["divided"]
    count = {"native": "histogram_count(blklat_io_latency_seconds{%s})", "classic": "blklat_io_latency_seconds_count{%s}"}[kind]
    rows = s.query(count % f'instance="{a}"')
    assert {(r["device"], r["op"], r["size"]) for r, _ in rows} == {(d, op, size_of(c)) for d, op, c in both.ios}
    assert all(n == len(ios_of(both, device=r["device"], op=r["op"], size=r["size"])) for r, n in rows)
    assert s.query('{__name__=~"blklat_io.*",size!="",instance="%s"}' % both.addresses["plain"]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_the_wholes_has_no_size(both, kind):
    s = getattr(both, kind)
    for name in WHOLE:
        found = told(s, f"blklat_io_{name}")
        assert found[both.addresses["plain"]] == found[both.addresses["divided"]] != {}, name
        assert s.query(f'blklat_io_{name}{{size!=""}}') == []


@pytest.mark.parametrize("kind", KINDS)
def test_rules_say_the_same(both, kind):
    s = getattr(both, kind)
    rules = [r for g in s.api("rules")["groups"] for r in g["rules"]]
    assert [(r["name"], r.get("lastError")) for r in rules if r["health"] != "ok"] == []
    asked = {r["name"]: r["query"] for r in rules if r["type"] == "recording" and "rate(" in r["query"]}
    assert len(asked) == 5
    for name, query in asked.items():
        # The rule may have been evaluated when only one of the two had been scraped.
        found = told(s, query)
        plain, divided = (found[a] for a in both.addresses.values())
        # A rate depends on when its host was scraped, and its extrapolation on each single series.
        assert divided == pytest.approx(plain, rel=0.5 if "rate" in name else WIDTH[kind] - 1), name
        recorded = told(s, name)
        assert recorded[both.addresses["plain"]].keys() == recorded[both.addresses["divided"]].keys(), name
    assert s.query('ALERTS{size!=""}') == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("title,ref,expression", [t for t in TARGETS if "$by!=" not in t[2] and "capture" not in t[2]],
                         ids=lambda v: v if len(str(v)) < 40 else "")
def test_the_dashboard_says_the_same(both, kind, title, ref, expression):
    if ref in KINDS and ref != kind:
        pytest.skip("the other kind's")
    found = {name: {key: v for rows in told(getattr(both, kind), filled(expression, both, instance=a), time=both.moment).items()
                    if rows[0] in (None, a) for key, v in rows[1].items()} for name, a in both.addresses.items()}
    assert found["plain"] and found["divided"] == pytest.approx(found["plain"], rel=0.6, nan_ok=True), title
    assert not any(label == "size" for key in found["divided"] for label, _ in key)


@pytest.mark.parametrize("kind", KINDS)
def test_panels_by_size(both, kind):
    s, a = getattr(both, kind), both.addresses["divided"]
    by = {(t, ref): filled(e, both, instance=a) for t, ref, e in TARGETS if "$by!=" in e}
    assert len(by) == 3
    for ref, q in (("p50", 0.5), ("p99", 0.99)):
        rows = s.query(by["Percentiles by $by", ref], time=both.moment)
        assert len(rows) == 2 * len({size_of(c) for c in BYTES})
        for labels, got in rows:
            values = sorted(ios_of(both, op=labels["op"], size=labels["size"]))
            exact = values[math.ceil(q * len(values)) - 1]
            # Half of the ticks, so the 99th percentile is over fewer IOs.
            assert 1 / WIDTH[kind] / 1.3 < got * 1e9 / exact < WIDTH[kind] * 1.3, (labels, got, exact)
    rates = {(r["op"], r["size"]): v for r, v in s.query(by["IOPS by $by", "iops"], time=both.moment)}
    reads = sum(v for (op, _), v in rates.items() if op == "read")
    # 512 and 4096 bytes are in the same part.
    assert rates["read", "4 KiB"] / reads == pytest.approx(2 / 7, rel=1e-6)
    assert rates["read", "1 MiB+"] / rates["read", "64 KiB"] == pytest.approx(2, rel=1e-6)


# --- the exposition -----------------------------------------------------------------------------


def test_first_part_is_there_from_the_begin(tmp_path):
    """So a device's rate is 0, not unknown, while its first IO hangs."""
    path = script(tmp_path / "s", ["sda model=M"], ["in-flight 1 oldest=5s", "tick 1"], facts=["by size"])
    text = played(path, TEXT).decode()
    assert exposed_totals(text) == {("sda", "device", op): (0, 0, 0) for op in ("read", "write")}
    assert text.count("blklat_io_latency_seconds_count{") == 2
    assert '_count{device="sda",op="read",size="4 KiB",stage="device"} 0\n' in text


@pytest.mark.parametrize("by,first,own", [("cgroup", "none", "/a"), ("process", "kworker", "fio (12)")])
def test_of_owners_nothing_is_there_before_its_first_io(tmp_path, by, first, own):
    path = script(tmp_path / "s", ["sda", "sdb"], [f'io read 1ms 4096 "in={own}"', f"io flush 1ms 0 in={first}", "on sdb device", "io write 1ms 4096 in=rest", "tick 1"],
                  facts=[f"by {by}"])
    found = re.findall(rf'seconds_count{{device="(\w+)",op="(\w+)",{by}="([^"]*)"', played(path, TEXT).decode())
    assert found == [("sda", "flush", first), ("sda", "read", own), ("sdb", "write", "rest")]


def test_parts_stand_in_their_order(tmp_path):
    path = write_script(tmp_path / "s", make_ios(), True)
    families = wire.families(played(path, PROTOBUF))
    sizes = [m["labels"]["size"] for m in families["blklat_io_latency_seconds"]["metric"]
             if (m["labels"]["device"], m["labels"]["op"]) == (DRIVES[0], "read")]
    assert sizes == ["4 KiB", "8 KiB", "64 KiB", "1 MiB+"]
    assert all(list(m["labels"]) == sorted(m["labels"]) for f in families.values() for m in f["metric"])
