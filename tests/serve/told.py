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


class Slow:
    """Slow IOs that the stream has reported, by device."""

    def __init__(self, stream):
        self.stream = stream
        self.forget()

    def forget(self):
        self.ios, self.found, self.counted = {}, {}, {}

    def take(self):
        [(_, data)] = self.stream.intervals(1)
        for w in (w for w in data["watches"] if "part" not in w):
            name = w["device"]
            self.ios.setdefault(name, []).extend(w.get("slow", []))
            self.found[name] = self.found.get(name, 0) + len(w.get("slow", [])) + w.get("slow_dropped", 0)
            self.counted[name] = self.counted.get(name, 0) + sum(o["ios"] for o in w["ops"])

    def of(self, s, device, n):
        """Waits for all @n IOs of a device, which have ended."""
        assert settled(s, device)["completed"] == n
        while self.counted.get(device.name, 0) < n:
            self.take()
        assert self.counted[device.name] == self.found[device.name] == n
        return self.ios[device.name]
