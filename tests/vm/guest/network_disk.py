# SPDX-License-Identifier: GPL-2.0-only
"""A network block device whose server is a thread of the test: linux/nbd.h."""
import contextlib
import fcntl
import os
import socket
import struct
import threading
import time

from guest import module
from stack import disk_at_rest

SET_SOCK, SET_BLKSIZE, DO_IT, CLEAR_SOCK, SET_SIZE_BLOCKS, DISCONNECT = 0xab00, 0xab01, 0xab03, 0xab04, 0xab07, 0xab08
REQUEST, REPLY = struct.Struct(">II8sQI"), struct.Struct(">II8s")
READ, WRITE, DISC = 0, 1, 2
BLOCK, BLOCKS = 4096, 16384


def received(server, n):
    data = b""
    while len(data) < n and (more := server.recv(n - len(data))):
        data += more
    return data


def serve(server, delay_s, asked):
    """Replies to one request after the other, @delay_s after it came. Reads give zeroes, writes go nowhere."""
    while request := received(server, REQUEST.size):
        _, op, handle, at, length = REQUEST.unpack(request)
        if op & 0xffff == DISC:
            break
        if op & 0xffff == WRITE:
            received(server, length)
        asked.append((op & 0xffff, at, length))
        time.sleep(delay_s)
        server.sendall(REPLY.pack(0x67446698, 0, handle) + bytes(length if op & 0xffff == READ else 0))
    server.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def served(delay_s):
    """The device and a list of what its server was asked from now on."""
    asked = []
    client, server = socket.socketpair()
    with module("nbd", nbds_max=1, max_part=0), client, server:
        fd = os.open("/dev/nbd0", os.O_RDWR)
        threads = [threading.Thread(target=serve, args=(server, delay_s, asked)), threading.Thread(target=fcntl.ioctl, args=(fd, DO_IT))]
        for request, value in (SET_BLKSIZE, BLOCK), (SET_SIZE_BLOCKS, BLOCKS), (SET_SOCK, client.fileno()):
            fcntl.ioctl(fd, request, value)
        for thread in threads:
            thread.start()
        try:
            device = disk_at_rest("nbd0")
            asked.clear()
            yield device, asked
        finally:
            fcntl.ioctl(fd, DISCONNECT)
            for thread in threads:
                thread.join()
            fcntl.ioctl(fd, CLEAR_SOCK)
            os.close(fd)
