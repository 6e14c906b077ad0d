# SPDX-License-Identifier: GPL-2.0-only
"""The dashboard is consistent, and each of its queries gives data in a real Prometheus."""
import json
import math
import re

import pytest

from dashboard import DASHBOARD, KINDS, TARGETS, VARIABLES, filled, rate_window_s
from player import ACCEPT, ACCEPT_NATIVE

pytestmark = pytest.mark.xdist_group("fleet")


def numbers(rows):
    """Values that a panel can draw; for a histogram, its number of IOs a second."""
    found = [float(v["count"]) if isinstance(v, dict) else v for _, v in rows]
    return [n for n in found if not math.isnan(n)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("title,ref,expression", TARGETS, ids=[f"{t[0]}-{t[1]}" for t in TARGETS])
def test_query(fleet, kind, title, ref, expression):
    rows = getattr(fleet, kind).query(filled(expression, fleet), time=fleet.moment)
    # One of the heat map's two sources has the data. No host here divides its IOs; one of test_divided_series.py does.
    if (ref in KINDS and ref != kind) or "$by!=" in expression:
        assert rows == []
    else:
        assert numbers(rows), (title, ref)


@pytest.mark.parametrize("kind", KINDS)
def test_figures(fleet, kind):
    """The panels' figures against what was played."""
    s = getattr(fleet, kind)
    by = {(title, ref): filled(e, fleet) for title, ref, e in TARGETS}
    slowest = s.query(by["Slowest devices of the fleet", "slowest"], time=fleet.moment)
    assert len(slowest) == 12
    # The IO beyond the grid is one of thousands, so the slow drive's reads have the highest p99.
    first = max(slowest, key=lambda row: row[1])[0]
    assert (first["instance"], first["device"], first["op"], first["model"]) == (
        fleet.addresses[1], "nvme2n1", "read", "Example NVMe")
    ratios = s.query(by["Slower than its model", "ratio"], time=fleet.moment)
    first, ratio = max(ratios, key=lambda row: row[1])
    assert (first["instance"], first["device"]) == (fleet.addresses[1], "nvme2n1") and 4 < ratio < 16
    iops = s.query(by["IOPS", "iops"], time=fleet.moment)
    reads = [(labels["instance"], v) for labels, v in iops if labels["op"] == "read"]
    # A tick brings each drive 1000 reads. The range of rate() ends up to a scrape before or after what was seen.
    begin, accept = fleet.moment - rate_window_s(fleet), {"native": ACCEPT_NATIVE, "classic": ACCEPT}[kind]
    paces = {e.address: e.pace(accept, begin, fleet.moment) for e in fleet.exporters}
    assert len(reads) == 6 and all(v == pytest.approx(1000 * paces[host], rel=0.5) for host, v in reads), (reads, paces)
    total = s.query(f'sum({by["IOPS", "iops"]})', time=fleet.moment)[0][1]
    panel = {"native": "Latency distribution, IOs a second", "classic": "Latency distribution, classic buckets"}[kind]
    heat = s.query(by[panel, kind], time=fleet.moment)
    assert max(numbers(heat)) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("name", [n for n, v in VARIABLES.items() if v["type"] == "query"])
def test_variable(fleet, name):
    query = VARIABLES[name]["query"]["query"]
    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()
    for kind in KINDS:
        found = getattr(fleet, kind).api(f"label/{label}/values", **{"match[]": filled(selector, fleet)})
        assert found and VARIABLES[name].get("current", {}).get("value", "") in ([f for f in found] + [["$__all"]])


def test_it_hangs_together():
    panels = DASHBOARD["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    taken = set()
    for p in panels:
        g = p["gridPos"]
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert g["x"] + g["w"] <= 24 and not cells & taken, p["title"]
        taken |= cells
        refs = [t["refId"] for t in p["targets"]]
        assert len(set(refs)) == len(refs)
        assert all(x["datasource"]["uid"] == "${datasource}" for x in [p, *p["targets"]])
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert used - set(VARIABLES) == {"__rate_interval", "__all"}
    assert set(VARIABLES) <= used
