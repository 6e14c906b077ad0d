# SPDX-License-Identifier: GPL-2.0-only
"""The dashboard's queries, filled in as Grafana does."""
import json
import pathlib
import re

DASHBOARD = json.loads((pathlib.Path(__file__).resolve().parents[2] / "packaging/grafana/blklat.json").read_text())
TARGETS = [(p["title"], t["refId"], t["expr"]) for p in DASHBOARD["panels"] for t in p["targets"]]
VARIABLES = {v["name"]: v for v in DASHBOARD["templating"]["list"]}
# The defaults of the dashboard's variables. For scrapes of 1 s Grafana makes an interval of 4 s.
CHOSEN = {"job": ".+", "instance": ".+", "device": ".+", "stage": "device", "by": "size", "__interval": "1s"}
KINDS = ("native", "classic")


def rate_window_s(fleet):
    return max(4, fleet.window_s)


def filled(expression, fleet, **more):
    chosen = CHOSEN | {"__rate_interval": f"{rate_window_s(fleet)}s"} | more
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: chosen[m[1] or m[2]], expression)
