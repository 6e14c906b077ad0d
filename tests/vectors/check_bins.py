#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Recomputes bins.txt with 80 decimal digits and compares: exit status 1 and the line if they differ.

With --write it makes the file anew. Shares nothing with include/blklat/gen_bins.py, which takes
integer square roots, so that one can't repeat a mistake of the other.
"""

import sys
from decimal import ROUND_FLOOR, Decimal, getcontext
from itertools import zip_longest
from pathlib import Path

PATH = Path(__file__).with_name("bins.txt")
FIRST, LAST = -26 * 64, 7 * 64
HEADER = """\
# Upper bounds of the bins of include/blklat/bins.h, reference for the tests of every engine
# (userspace, BPF and the kernel module's KUnit suite).
# Each line: k, floor(10^9 * 2^(k/64)): the bound 2^(k/64) s in whole ns. A bin holds
#   bound of k-1 < ns <= bound of k
# and is number k + 1664 of its series at scale 6; 0 lies below the grid, 2113 above it.
# Made and checked by check_bins.py."""

getcontext().prec = 80


def bound_ns(k: int) -> int:
    octave, step = divmod(k, 64)
    # Whole octaves apart: these are exact in decimal, down to 10^9 / 2^26.
    exact = Decimal(10**9) * 2**octave if octave >= 0 else Decimal(10**9) / 2**-octave
    value = exact * (Decimal(2).ln() * step / 64).exp() if step else exact
    floor = value.to_integral_value(ROUND_FLOOR)
    if step:
        assert min(value - floor, floor + 1 - value) > Decimal("1e-60"), f"k={k}: too close to tell"
    return int(floor)


def main() -> int:
    wanted = HEADER.split("\n") + [f"{k} {bound_ns(k)}" for k in range(FIRST, LAST + 1)]
    if sys.argv[1:] == ["--write"]:
        PATH.write_text("\n".join(wanted) + "\n")
        return 0
    if sys.argv[1:]:
        print("usage: check_bins.py [--write]", file=sys.stderr)
        return 2
    found = PATH.read_text().split("\n")
    if found[-1] != "":
        print(f"{PATH.name}: the last line has no end", file=sys.stderr)
        return 1
    for number, (is_, must) in enumerate(zip_longest(found[:-1], wanted), 1):
        if is_ != must:
            print(f"{PATH.name}:{number}: is {is_!r}, must be {must!r}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
