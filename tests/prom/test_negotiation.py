# SPDX-License-Identifier: GPL-2.0-only
"""Which format an Accept header gets."""
from player import ACCEPT, ACCEPT_NATIVE, PROTOBUF, Player

P, O, T = (kind + rest for kind, rest in (
    ("application/vnd.google.protobuf", "; proto=io.prometheus.client.MetricFamily; encoding=delimited"),
    ("application/openmetrics-text", "; version=1.0.0; charset=utf-8"),
    ("text/plain", "; version=0.0.4; charset=utf-8")))
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
# Prometheus 3 with native histograms.
ACCEPT_3 = (PROTOBUF + ";q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
            "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
            "text/plain;version=0.0.4;q=0.2,*/*;q=0.1")

CASES = (
    ("", T), ("*/*", T), ("text/*", T), ("text/plain", T), (BROWSER, T), ("application/json", T), ("nonsense", T),
    (ACCEPT_NATIVE, P), (ACCEPT, O), (ACCEPT_3, P), (PROTOBUF, P),
    # Names and values are case-insensitive; blanks and quotes are allowed.
    ('Application/VND.google.protobuf ; PROTO="io.prometheus.client.MetricFamily" ; encoding=Delimited', P),
    # Other encodings of protobuf are not supported.
    ("application/vnd.google.protobuf", T), ("application/vnd.google.protobuf;encoding=delimited", T),
    ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text", T),
    ("application/vnd.google.protobuf;proto=other;encoding=delimited", T),
    ("application/openmetrics-text", O), ("application/openmetrics-text;version=1.0.0", O),
    ("application/openmetrics-text;version=0.0.1", T), ("application/openmetrics-text;version=2.0.0", T),
    ("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", T),
    # The weight decides, not the order; among equals the richer format.
    ("text/plain;q=0.5,application/openmetrics-text;q=0.6", O),
    ("text/plain;q=0.7,application/openmetrics-text;q=0.6", T),
    ("text/plain,application/openmetrics-text", O), (f"text/plain,application/openmetrics-text,{PROTOBUF}", P),
    (PROTOBUF + ";q=0.999,text/plain;q=1.000", T), (PROTOBUF + ";q=0", T),
    (PROTOBUF + ";q=0,application/openmetrics-text", O),
    ("application/openmetrics-text;q=0.1,*/*;q=0.9", T), ("application/openmetrics-text;q=0.9,*/*;q=0.1", O),
    # A range with an invalid weight is ignored.
    ("application/openmetrics-text;q=2", T),
    ("application/openmetrics-text;q=x", T),
    ("application/openmetrics-text;q=", T),
    ("application/openmetrics-text;q=0.1234", T),
    ("application/openmetrics-text;q=-1", T),
    ("application/openmetrics-text;q=1.001", T),
    ("application/openmetrics-text;q=0.", T), ("application/openmetrics-text;q=1.", O),
    # Separators within quotes do not separate.
    ('text/x;a="application/openmetrics-text,b;q=1",application/openmetrics-text;q=0.3', O),
    ('text/x;a=",application/openmetrics-text"', T),
    (',,;;,application/openmetrics-text;;,', O),
    ('"', T),
    ('application/openmetrics-text;"', O),
)


def test_formats():
    with Player() as p:
        got = [(accept, p.get(accept)[0]) for accept, _ in CASES]
    assert got == list(CASES)
