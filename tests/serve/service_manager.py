# SPDX-License-Identifier: GPL-2.0-only
"""The service manager, as far as a service communicates with it."""
import contextlib
import pathlib
import socket
import struct

from service import DEADLINE_S


class Manager:
    """The service manager's end of NOTIFY_SOCKET. The kernel says when a message was sent, however late it is read here."""
    TIMESTAMPNS = 35  # SO_TIMESTAMPNS, which Python has no name for

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, self.TIMESTAMPNS, 1)
        self.socket.settimeout(DEADLINE_S)
        if not address.startswith("\0"):
            pathlib.Path(address).unlink(missing_ok=True)  # left by an earlier run of a repeated test
        self.socket.bind(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def next(self):
        """(when, what)"""
        text, [(_, kind, stamp)], _, _ = self.socket.recvmsg(1000, 100)
        assert kind == self.TIMESTAMPNS
        seconds, ns = struct.unpack("qq", stamp)
        return seconds + ns / 1e9, text

    def after_beats(self):
        """The next message that is not for the watchdog."""
        return next(text for _, text in iter(self.next, None) if text != b"WATCHDOG=1")

    def rest(self):
        """The messages of a service that has ended."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                yield self.next()[1]
