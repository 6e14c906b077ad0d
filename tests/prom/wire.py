# SPDX-License-Identifier: GPL-2.0-only
"""Reads delimited io.prometheus.client.MetricFamily messages by their published field numbers.

Shares nothing with the program: no generated code, no .proto.
"""
import struct

VARINT, FIXED64, BYTES = 0, 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            assert value < 1 << 64
            return value, at


def zigzag(n):
    return n >> 1 ^ -(n & 1)


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def fields(data):
    """(number, wire type, value) of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind == FIXED64:
            value, at = data[at:at + 8], at + 8
        else:
            assert kind == BYTES, f"wire type {kind}"
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield number, kind, value


def double(value):
    return struct.unpack("<d", value)[0]


def fixed(value):
    return struct.unpack("<Q", value)[0]


def text(value):
    return value.decode("utf-8")  # strict: invalid UTF-8 is an error


def packed_sint(value):
    numbers, at = [], 0
    while at < len(value):
        n, at = varint(value, at)
        numbers.append(zigzag(n))
    return numbers


def message(spec):
    """A reader of messages with fields {number: (name, wire type, read, repeated)}; an unknown field is an error."""
    def read(data):
        found = {name: [] for name, _, _, repeated in spec.values() if repeated}
        for number, kind, value in fields(data):
            name, wanted, convert, repeated = spec[number]
            assert kind == wanted, (name, kind)
            value = convert(value)
            if repeated:
                found[name].append(value)
            else:
                assert name not in found, name
                found[name] = value
        return found
    return read


def same(value):
    return value


label = message({1: ("name", BYTES, text, False), 2: ("value", BYTES, text, False)})
gauge = message({1: ("value", FIXED64, double, False)})
counter = message({1: ("value", FIXED64, double, False)})
timestamp = message({1: ("seconds", VARINT, signed, False), 2: ("nanos", VARINT, signed, False)})
exemplar = message({1: ("label", BYTES, label, True), 2: ("value", FIXED64, double, False), 3: ("timestamp", BYTES, timestamp, False)})
bucket = message({1: ("cumulative_count", VARINT, same, False), 2: ("upper_bound", FIXED64, double, False), 3: ("exemplar", BYTES, exemplar, False)})
span = message({1: ("offset", VARINT, zigzag, False), 2: ("length", VARINT, same, False)})
histogram = message({
    1: ("sample_count", VARINT, same, False), 2: ("sample_sum", FIXED64, double, False),
    3: ("bucket", BYTES, bucket, True), 5: ("schema", VARINT, zigzag, False),
    6: ("zero_threshold", FIXED64, double, False), 7: ("zero_count", VARINT, same, False),
    12: ("positive_span", BYTES, span, True), 13: ("positive_delta", BYTES, packed_sint, False),
    15: ("created_timestamp", BYTES, timestamp, False), 16: ("exemplars", BYTES, exemplar, True),
})
metric = message({1: ("label", BYTES, label, True), 2: ("gauge", BYTES, gauge, False),
                  3: ("counter", BYTES, counter, False), 7: ("histogram", BYTES, histogram, False)})
family = message({1: ("name", BYTES, text, False), 2: ("help", BYTES, text, False), 3: ("type", VARINT, same, False),
                  4: ("metric", BYTES, metric, True)})

TYPES = {0: "counter", 1: "gauge", 4: "histogram"}


def families(data):
    """{name: family}; a metric's labels become a dict."""
    found, at = {}, 0
    while at < len(data):
        size, at = varint(data, at)
        f = family(data[at:at + size])
        at += size
        f["type"] = TYPES[f["type"]]
        for m in f["metric"]:
            pairs = [(one["name"], one["value"]) for one in m.pop("label")]
            m["labels"] = dict(pairs)
            assert len(m["labels"]) == len(pairs)
        assert f["name"] not in found, f["name"]
        found[f["name"]] = f
    assert at == len(data)
    return found


def buckets(h):
    """{number: count} of a native histogram's buckets, including empty ones in spans."""
    counts, number, ios, deltas = {}, 0, 0, iter(h.get("positive_delta", []))
    for one in h["positive_span"]:
        number += one["offset"]
        for _ in range(one["length"]):
            ios += next(deltas)
            assert number not in counts
            counts[number] = ios
            number += 1
    assert next(deltas, None) is None
    return counts
