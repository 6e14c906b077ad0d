# SPDX-License-Identifier: GPL-2.0-only
"""Users and their passwords."""
import base64
import functools
import os
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.13 no longer has it
    import crypt

# Starts a service of which no other work of the machine keeps a check waiting: after 10 s it answers 429 instead. A check has a low
# priority, of which a policy for real time takes no notice.
AHEAD = ("chrt", "--rr", "1") if os.geteuid() == 0 else ()
SALT = "abcdefghijklmnopqrstuu"


@functools.cache
def bcrypt(password, cost=5, kind="y"):
    return crypt.crypt(password, f"$2{kind}${cost:02}${SALT}")


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}
