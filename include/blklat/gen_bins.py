#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT
"""Prints bins_table.h: the tables of bins.h, by exact integer arithmetic. With --typescript, the grid for the report's page.

Bounds of the grid are 2^(k/64) s = 10^9 * 2^(k/64) ns. As mantissas (ns = mantissa * 2^e with
1 <= mantissa < 2) they repeat each octave: 64 values. The table has one entry for each 1/128 of
the mantissa, whose upper 57 bits are the one bound that lies there (none: all ones) and whose lower
7 bits are the number of bounds before it.
"""

import sys
from math import isqrt

BINS = 64  # an octave
FIRST, LAST = -26, 7  # the grid is 2^FIRST s to 2^LAST s
CELLS = 128  # of the mantissa; one bin is wider than any of them
FRACTION = 63  # bits of a mantissa's fraction


def bound(k: int, shift: int = 0) -> int:
    """floor(2^shift * 10^9 * 2^(k/64)), exactly: a 64th root is six square roots."""
    power = (10**9) ** BINS
    exponent = k + shift * BINS
    x = power << exponent if exponent >= 0 else power >> -exponent
    for _ in range(6):
        x = isqrt(x)
    return x


def mantissas() -> list[int]:
    """floor(mantissa * 2^63) of the 64 bounds, ascending."""
    found = []
    for k in range(BINS):
        exponent = bound(k).bit_length() - 1
        found.append(bound(k, FRACTION - exponent))
    return sorted(found)


def table() -> list[int]:
    bounds = mantissas()
    entries = []
    for cell in range(CELLS):
        low = (1 << FRACTION) + (cell << (FRACTION - 7))
        high = low + (1 << (FRACTION - 7))
        before = sum(b < low for b in bounds)
        inside = [b for b in bounds if low <= b < high]
        assert len(inside) <= 1, "a cell of 1/128 holds at most one bound"
        top = inside[0] >> 7 << 7 if inside else ((1 << 57) - 1) << 7
        entries.append(top | before)
    return entries


def print_typescript() -> None:
    print("// Made by gen_bins.py; do not edit.")
    print(f"export const BINS = {BINS}, OCTAVES = {LAST - FIRST};")
    print("/** Bounds of the octave above the grid in ns; each below has their halves, rounded down. */")
    print(f"export const ABOVE_NS = [{', '.join(str(bound(LAST * BINS + k)) for k in range(BINS))}];")


def print_header() -> None:
    first = FIRST * BINS
    exponent = bound(first).bit_length() - 1
    # Number of the first bound of the grid, counted as in blklat_bin_of(): 64 an octave of ns.
    origin = exponent * BINS + sorted(mantissas()).index(bound(first, FRACTION - exponent))
    print("/* Made by gen_bins.py; do not edit. */")
    print(f"#define BLKLAT_ORIGIN {origin}")
    print(f"#define BLKLAT_FIRST_NS {bound(first)}ULL")
    print(f"#define BLKLAT_LAST_NS {bound(LAST * BINS)}ULL")
    print("#define BLKLAT_MANTISSAS { \\")
    for entry in table():
        print(f"\t{entry:#018x}ULL, \\")
    print("}")
    print("#define BLKLAT_BOUNDS { \\")
    for m in mantissas():
        print(f"\t{m:#018x}ULL, \\")
    print("}")


if __name__ == "__main__":
    print_typescript() if sys.argv[1:] == ["--typescript"] else print_header()
