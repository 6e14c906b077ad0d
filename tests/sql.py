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


GROWING = "started", "started_after", "kernel_ios"


def repeated(file, times):
    """A recording without losses whose intervals come so often, one after the other. Returns the file."""
    (n, mono, wall), = query(file, "SELECT max(id), max(mono_ns) - min(mono_ns), max(wall_ns) - min(wall_ns) FROM interval")
    tables = {name for name, in query(file, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    (slow,), = query(file, "SELECT count(*) FROM slow") if "slow" in tables else [(0,)]
    of_last = ", ".join(f"{column} = {column} + (SELECT {column} FROM last WHERE watch = again.watch)" for column in GROWING)
    later = {"interval": f"id = id + {n}, mono_ns = mono_ns + {mono}, wall_ns = wall_ns + {wall}", "state": f"interval = interval + {n}, {of_last}",
             "series": f"interval = interval + {n}", "busy": f"interval = interval + {n}", "slow_found": f"interval = interval + {n}",
             "slow": f"interval = interval + {n}, n = n + {slow}, end_wall_ns = end_wall_ns + {wall}", "slow_file": f"n = n + {slow}"}
    statements = [f"CREATE TEMP TABLE last AS SELECT * FROM state WHERE interval = {n}"]
    for table in later.keys() & tables:
        such = {"interval": "WHERE id", "slow_file": ""}.get(table, "WHERE interval")
        statements += [f"CREATE TEMP TABLE again AS SELECT * FROM {table} {such}",
                       *[f"UPDATE again SET {later[table]}", f"INSERT INTO {table} SELECT * FROM again"] * (times - 1), "DROP TABLE again"]
    return change(file, *statements)
