# SPDX-License-Identifier: GPL-2.0-only
"""A real Prometheus scrapes it: results of queries against the IOs."""
import math

import pytest

from player import ACCEPT, ACCEPT_NATIVE

COUNT = {"native": "histogram_count(blklat_io_latency_seconds{%s})", "classic": "blklat_io_latency_seconds_count{%s}"}
SUM = {"native": "histogram_sum(blklat_io_latency_seconds{%s})", "classic": "blklat_io_latency_seconds_sum{%s}"}
BUCKETS = {"native": "blklat_io_latency_seconds{%s}", "classic": "blklat_io_latency_seconds_bucket{%s}"}
WIDTH = {"native": 2 ** (1 / 8), "classic": 2 ** (1 / 2)}
KINDS = ("native", "classic")

pytestmark = pytest.mark.xdist_group("fleet")


def labels(fleet, host, drive, op):
    return f'instance="{fleet.addresses[host]}",device="{drive}",op="{op}",stage="device"'


def test_each_server_asks_for_its_format(fleet):
    for e in fleet.exporters:
        kinds = {accept: kind.split(";")[0] for accept, kind, _ in e.scrapes}
        assert kinds == {ACCEPT_NATIVE: "application/vnd.google.protobuf", ACCEPT: "application/openmetrics-text"}


@pytest.mark.parametrize("kind", KINDS)
def test_scrapes_succeed(fleet, kind):
    s = getattr(fleet, kind)
    s.assert_scrapes()
    said = s.said()
    assert "level=warn" not in said and "level=error" not in said, said


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_sums_are_those_of_the_ios(fleet, kind):
    s = getattr(fleet, kind)
    for (host, drive, op), values in fleet.ios.items():
        of = labels(fleet, host, drive, op)
        assert s.value(COUNT[kind] % of) == len(values)
        assert s.value(SUM[kind] % of) == pytest.approx(sum(values) / 1e9, rel=1e-12)


@pytest.mark.parametrize("q", (0.5, 0.9, 0.99, 0.999))
@pytest.mark.parametrize("kind", KINDS)
def test_quantiles_are_exact_within_a_bucket(fleet, kind, q):
    """Over everything so far; no further away from the exact figures than the width of a bucket."""
    s = getattr(fleet, kind)
    for key, values in fleet.ios.items():
        got = s.value(f"histogram_quantile({q}, {BUCKETS[kind] % labels(fleet, *key)})") * 1e9
        exact = sorted(values)[math.ceil(q * len(values)) - 1]
        assert 1 / WIDTH[kind] < got / exact < WIDTH[kind], (key, got, exact)


def test_native_histograms_hold_what_lies_outside_of_the_grid(fleet):
    key = 0, "nvme0n1", "read"
    h = fleet.native.value(BUCKETS["native"] % labels(fleet, *key))
    first, last = h["buckets"][0], h["buckets"][-1]
    assert [float(first[1]), float(first[2]), int(first[3])] == [-2.0 ** -26, 2.0 ** -26, 2]
    # The lower bound is correct, as 130 s is beyond 128 s.
    assert [float(last[1]), float(last[2]), int(last[3])] == [128, 128 * 2 ** (1 / 8), 1]
    assert sum(int(b[3]) for b in h["buckets"]) == len(fleet.ios[key])


def test_bounds_of_classic_buckets(fleet):
    les = fleet.classic.api("label/le/values")
    assert len(les) == 52 and {"9.53e-07", "0.000976562", "1.0", "32.0", "+Inf"} <= set(les)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_evaluate(fleet, kind):
    s = getattr(fleet, kind)
    rules = [r for g in s.api("rules")["groups"] for r in g["rules"]]
    assert len(rules) > 12
    assert [(r["name"], r.get("lastError")) for r in rules if r["health"] != "ok"] == []
    for r in rules:
        if r["type"] == "recording":
            assert s.query(r["name"]), r["name"]
    # A device's p99 by the rule, over everything scraped so far.
    for (host, drive, op), values in fleet.ios.items():
        got = s.value(f"device_op:blklat_io_latency_seconds:p99_5m{{{labels(fleet, host, drive, op)}}}") * 1e9
        exact = sorted(values)[math.ceil(0.99 * len(values)) - 1]
        assert 1 / WIDTH[kind] ** 2 < got / exact < WIDTH[kind] ** 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_slow_drive_is_found(fleet, kind):
    """The alert fires after half an hour; here it has to be pending, for this drive alone."""
    s = getattr(fleet, kind)
    rows = s.query('ALERTS{alertname="BlklatDriveSlowerThanPeers"}')
    assert {(r["instance"], r["device"], r["op"], r["alertstate"]) for r, _ in rows} == {
        (fleet.addresses[1], "nvme2n1", op, "pending") for op in ("read", "write")}
