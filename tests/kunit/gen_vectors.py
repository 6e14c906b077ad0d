#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints bins_vectors.h: tests/vectors/bins.txt as C, for kmod/bins_kunit.c, which can't read files."""
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[1] / "vectors/bins.txt"


def main():
    rows = [line.split() for line in PATH.read_text().splitlines() if not line.startswith("#")]
    print("/* SPDX-License-Identifier: GPL-2.0-only */")
    print("/* Made by gen_vectors.py; do not edit. Rows of { k, bound of 2^(k/64) s in ns }. */")
    print("#define BLKLAT_VECTORS { \\")
    for k, ns in rows:
        print(f"\t{{ {k}, {ns}ULL }}, \\")
    print("}")


if __name__ == "__main__":
    main()
