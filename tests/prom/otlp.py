# SPDX-License-Identifier: GPL-2.0-only
"""Reads OTLP's ExportMetricsServiceRequest by its published field numbers; what is missing or not known is an error."""
from wire import BYTES, FIXED64, VARINT, double, fixed, message, same, text, varint, zigzag


def numbers(value):
    found, at = [], 0
    while at < len(value):
        n, at = varint(value, at)
        found.append(n)
    return found


any_value = message({1: ("string", BYTES, text, False)})
pair = message({1: ("key", BYTES, text, False), 2: ("value", BYTES, any_value, False)})


def pairs(found):
    """A list of attributes as a dict."""
    made = {one["key"]: one["value"]["string"] for one in found}
    assert len(made) == len(found)
    return made


def point(spec):
    read = message(spec)

    def with_attributes(data):
        found = read(data)
        found["attributes"] = pairs(found["attributes"])
        return found
    return with_attributes


exemplar = point({2: ("time", FIXED64, fixed, False), 3: ("value", FIXED64, double, False), 7: ("attributes", BYTES, pair, True)})
number = point({2: ("start", FIXED64, fixed, False), 3: ("time", FIXED64, fixed, False), 4: ("value", FIXED64, double, False),
                7: ("attributes", BYTES, pair, True)})
buckets = message({1: ("offset", VARINT, zigzag, False), 2: ("counts", BYTES, numbers, False)})
histogram = point({
    1: ("attributes", BYTES, pair, True), 2: ("start", FIXED64, fixed, False), 3: ("time", FIXED64, fixed, False),
    4: ("count", FIXED64, fixed, False), 5: ("sum", FIXED64, double, False), 6: ("scale", VARINT, zigzag, False),
    7: ("zero_count", FIXED64, fixed, False), 8: ("positive", BYTES, buckets, False), 11: ("exemplars", BYTES, exemplar, True),
    14: ("zero_threshold", FIXED64, double, False),
})
CUMULATIVE = 2
gauge = message({1: ("points", BYTES, number, True)})
sums = message({1: ("points", BYTES, number, True), 2: ("temporality", VARINT, same, False), 3: ("monotonic", VARINT, same, False)})
histograms = message({1: ("points", BYTES, histogram, True), 2: ("temporality", VARINT, same, False)})
metric = message({1: ("name", BYTES, text, False), 2: ("description", BYTES, text, False), 3: ("unit", BYTES, text, False),
                  5: ("gauge", BYTES, gauge, False), 7: ("sum", BYTES, sums, False), 10: ("histogram", BYTES, histograms, False)})
scope = message({1: ("name", BYTES, text, False), 2: ("version", BYTES, text, False)})
scope_metrics = message({1: ("scope", BYTES, scope, False), 2: ("metrics", BYTES, metric, True)})
resource = message({1: ("attributes", BYTES, pair, True)})
resource_metrics = message({1: ("resource", BYTES, resource, False), 2: ("scopes", BYTES, scope_metrics, True)})
request = message({1: ("resources", BYTES, resource_metrics, True)})


def pushed(data):
    """The attributes of the resource, the scope, and {name: metric}; a metric has its kind and its points."""
    (one,) = request(data)["resources"]
    (of,) = one["scopes"]
    metrics = {}
    for m in of["metrics"]:
        (kind,) = {"gauge", "sum", "histogram"} & m.keys()
        body = m.pop(kind)
        assert body.get("temporality", CUMULATIVE) == CUMULATIVE and body.get("monotonic", 1) == 1
        assert m["name"] not in metrics
        metrics[m["name"]] = m | {"kind": kind, "points": body["points"]}
    return pairs(one["resource"]["attributes"]), of["scope"], metrics


def counts(h):
    """{Prometheus' number: IOs} of the buckets: its bucket ends where OpenTelemetry's of that index begins."""
    return {h["positive"]["offset"] + 1 + i: n for i, n in enumerate(h["positive"].get("counts", [])) if n}
