# SPDX-License-Identifier: GPL-2.0-only
"""Users and their passwords."""
import base64
import functools
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.13 no longer has it
    import crypt

SALT = "abcdefghijklmnopqrstuu"


@functools.cache
def bcrypt(password, cost=5, kind="y"):
    return crypt.crypt(password, f"$2{kind}${cost:02}${SALT}")


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}
