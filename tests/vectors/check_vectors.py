#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks bins_vectors.h by the definition of a bound, in integers: exit status 1 and the row if one is wrong.

usage: check_vectors.py FILE

b = floor(10^9 * 2^(k/64)) is what b^64 <= 10^(9*64) * 2^k < (b+1)^64 says. It takes no root and no logarithm, and
shares nothing with gen_vectors.py.
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\t\{ (-?\d+), (\d+)ULL \}, \\$", re.M)
KS = list(range(-26 * 64, 7 * 64 + 1))


def is_bound(b: int, k: int) -> bool:
    power = 10**(9 * 64)
    exact, scale = (power << k, 1) if k >= 0 else (power, 1 << -k)
    return b**64 * scale <= exact < (b + 1)**64 * scale


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_vectors.py FILE", file=sys.stderr)
        return 2
    rows = [(int(k), int(ns)) for k, ns in ROW.findall(pathlib.Path(sys.argv[1]).read_text())]
    if [k for k, _ in rows] != KS:
        print(f"{sys.argv[1]}: has {len(rows)} rows, must have one for each k from {KS[0]} to {KS[-1]}", file=sys.stderr)
        return 1
    wrong = [(k, ns) for k, ns in rows if not is_bound(ns, k)]
    for k, ns in wrong:
        print(f"{sys.argv[1]}: {ns} is not the bound of k = {k}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
