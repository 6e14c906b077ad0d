#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints bins_vectors.h: the upper bounds of all bins, the reference for the tests of bins.h.

Rows are { k, floor(10^9 * 2^(k/64)) }, the bound 2^(k/64) s in whole ns. A bin holds
bound of k-1 < ns <= bound of k and is number k + 1664 of its series at scale 6; 0 lies below the grid,
2113 above it. Computed with 80 decimal digits: nothing is shared with include/blklat/gen_bins.py, which takes
integer square roots, so that one can't repeat a mistake of the other. check_vectors.py checks what is printed.
"""
from decimal import ROUND_FLOOR, Decimal, getcontext

FIRST, LAST = -26 * 64, 7 * 64

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


def main() -> None:
    print("/* SPDX-License-Identifier: GPL-2.0-only */")
    print("/* Made by gen_vectors.py; do not edit. Rows of { k, bound of 2^(k/64) s in ns }. */")
    print("#define BLKLAT_VECTORS { \\")
    for k in range(FIRST, LAST + 1):
        print(f"\t{{ {k}, {bound_ns(k)}ULL }}, \\")
    print("}")


if __name__ == "__main__":
    main()
