# SPDX-License-Identifier: GPL-2.0-only
"""Recordings read and changed by SQL."""
import contextlib
import sqlite3


def query(file, sql):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def change(file, *statements):
    """All of them or none. Returns the file."""
    with contextlib.closing(sqlite3.connect(file)) as db, db:
        for sql in statements:
            db.execute(sql)
    return file
