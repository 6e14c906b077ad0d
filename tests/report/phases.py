# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with marks. A script has none, so they are written into the recording that is made from it."""
from sql import change

import synthetic


def mark(file, *marks):
    """Writes @marks, pairs of second and text, into a recording."""
    return change(file, *(f"INSERT INTO mark SELECT mono_ns + {round(s * 1e9)}, wall_ns + {round(s * 1e9)}, '{text}' FROM interval WHERE id = 0"
                          for s, text in marks))


def sweep(path, depths=(1, 4, 16), seconds=5, service_ns=100_000, most=30_000, slower=1.0):
    """A load at each queue depth: IOPS grow up to the device's maximum, then latency. Each mark comes 0.3 s late."""
    script = synthetic.Script()
    marks = []
    for i, depth in enumerate(depths):
        iops = min(depth * 1e9 / service_ns, most)
        marks.append((i * seconds + 0.3, f"QD {depth}"))
        for _ in range(seconds):
            script.io("read", depth * 1e9 / iops * slower, round(iops))
            script.tick(1)
    marks.append((len(depths) * seconds - 0.4, "end"))
    return mark(script.write(path), *marks)
