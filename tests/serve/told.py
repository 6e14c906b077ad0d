# SPDX-License-Identifier: GPL-2.0-only
"""What a service reports about a device."""
import re

from load import Missing


def watched(serve, device, stage="device"):
    return [line for line in serve.snapshot() if (line["device"], line["stage"]) == (device.name, stage) and not line.get("gone")]


def wait_for(serve, device):
    serve.until(lambda: watched(serve, device), f"{device.name} to be watched")


def total(serve, device, op, stage="device", what="io_latency_seconds_count"):
    return serve.metrics().get(f'blklat_{what}{{device="{device.name}",op="{op}",stage="{stage}"}}', 0)


def totals(serve, device):
    """Reported reads and writes."""
    return total(serve, device, "read"), total(serve, device, "write")


def settled(serve, device):
    """The accounting of a quiet device, including everything before this call."""
    serve.later_snapshot()
    a = serve.until(lambda: watched(serve, device), f"{device.name} in an interval")[0]["accounting"]
    if a["lost"] or a["in_flight"]:
        raise Missing(a)
    return a


def by_part(serve, device, what="io_latency_seconds_count", by="size"):
    """{(op, part): total} of all totals but 0."""
    found = {}
    for name, value in serve.metrics().items():
        labels = dict(re.findall(r'(\w+)="(.*?)"(?:,|\})', name))
        if name.startswith(f"blklat_{what}{{") and value and labels.keys() == {"device", "op", "stage", by} and \
                (labels["device"], labels["stage"]) == (device.name, "device"):
            found[labels["op"], labels[by]] = value
    return found
