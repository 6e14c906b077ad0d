# SPDX-License-Identifier: GPL-2.0-only
"""
Loads on a service, and a measure of the machine's own lateness. Each runs in a separate process, so that it and the test's
interpreter do not wait for each other; the 'with' block ends it.
"""
import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time


class Helper:
    """This file run as a program, with the name of a function below; `.said` is what it printed once it is ended."""

    def __init__(self, *argv):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, *map(str, argv)], stdout=subprocess.PIPE, text=True)
        # Wait until it runs, so that what follows is under pressure from the first moment.
        assert self.process.stdout.readline() == "ready\n"
        self.said = None

    def __enter__(self):
        return self

    def end(self):
        if self.said is None:
            self.process.terminate()
            self.said = json.loads(self.process.communicate()[0])
        return self.said

    def __exit__(self, *_):
        self.end()


def sleeper():
    """
    Sleeps to a deadline each 10 ms, on each CPU and with a capture's priority, if it may; says by how much it was late at most.
    On each CPU, because a kernel that can't be interrupted for long delays whoever wakes there, whatever its priority.
    """
    return Helper("sleep")


def hog():
    """Takes a CPU, ahead of everything in this session that is not real-time."""
    return Helper("spin")


def scrapers(serve, n):
    """@n scrapers, as fast as they can; says how many answers were whole."""
    return Helper("scrape", serve.host, serve.port, n)


def slow_clients(serve, n):
    """@n clients that trickle a request and reconnect when cut off; says how many bytes were taken."""
    return Helper("trickle", serve.host, serve.port, n)


def attackers(serve, slow, wrong, spread):
    """
    @slow clients that trickle a request, and @wrong ones that guess passwords, always different ones. All reconnect at once when
    they are cut off or answered; all have begun. They come from this address, or each from its own (@spread). Says how many connections there
    were, and how many answers of each status.
    """
    return Helper("attack", serve.host, serve.port, slow, wrong, int(spread))


# --- in the helper's process ------------------------------------------------------------------

def until_terminated(result, ready=True):
    """On SIGTERM prints the result and ends the process, whatever its threads do. @ready: the pressure has begun."""
    def end(*_):
        print(json.dumps(result()), flush=True)
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
    if ready:
        print("ready", flush=True)


def sleep():
    worst = {cpu: 0 for cpu in os.sched_getaffinity(0)}

    def one(cpu):
        # 0: this thread only.
        os.sched_setaffinity(0, {cpu})
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        due = time.monotonic()
        while True:
            due = max(due + 0.01, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
            worst[cpu] = max(worst[cpu], time.monotonic() - due)
    for cpu in worst:
        threading.Thread(target=one, args=(cpu,), daemon=True).start()
    until_terminated(lambda: max(worst.values()))
    while True:
        signal.pause()


def spin():
    os.nice(-20)
    until_terminated(lambda: 0)
    while True:
        pass


def scrape(host, port, n):
    import http.client
    answers = [0] * int(n)

    def one(i):
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                c = http.client.HTTPConnection(host, int(port), timeout=20)
                while True:
                    c.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"} if i % 2 else {})
                    r = c.getresponse()
                    answers[i] += r.status == 200 and len(r.read()) == int(r.headers["Content-Length"])
    for i in range(int(n)):
        threading.Thread(target=one, args=(i,), daemon=True).start()
    until_terminated(lambda: sum(answers))
    while True:
        signal.pause()


def trickle(host, port, n):
    clients, taken = [], 0
    until_terminated(lambda: taken)
    while True:
        while len(clients) < int(n):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((host, int(port)))
            clients.append((s, iter(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ")))
        for client in list(clients):
            s, begin = client
            try:
                taken += s.send(bytes([next(begin, ord("a"))]))
            except BlockingIOError:
                pass    # not connected yet
            except OSError:
                clients.remove(client)
                s.close()
        time.sleep(0.02)


def attack(host, port, slow, wrong, spread):
    """One thread does everything, so that a CPU is left to others."""
    told = {"connections": 0}
    pause_s = 0.05

    @contextlib.asynccontextmanager
    async def connection(number):
        local = (f"127.{1 + number // 250}.7.{1 + number % 250}", 0) if int(spread) else None
        r, w = await asyncio.open_connection(host, int(port), local_addr=local)
        told["connections"] += 1
        if told["connections"] == int(slow) + int(wrong):
            print("ready", flush=True)
        try:
            yield r, w
        finally:
            w.transport.abort()

    async def trickles(number):
        async with connection(number) as (_, w):
            w.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ")
            while not w.is_closing():
                w.write(b"a")
                await asyncio.sleep(pause_s)

    async def guesses(number):
        async with connection(number) as (r, w):
            password = base64.b64encode(b"prometheus:" + os.urandom(9).hex().encode()).decode()
            w.write(f"GET /metrics HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Basic {password}\r\n\r\n".encode())
            status = (await r.readline())[9:12].decode()
            told[status] = told.get(status, 0) + 1

    async def again(what, number):
        while True:
            with contextlib.suppress(OSError):
                await what(number)
            await asyncio.sleep(pause_s)

    async def all_of_them():
        await asyncio.gather(*(again(trickles if i < int(slow) else guesses, i) for i in range(int(slow) + int(wrong))))
    until_terminated(lambda: told, ready=False)
    asyncio.run(all_of_them())


if __name__ == "__main__":
    {f.__name__: f for f in (sleep, spin, scrape, trickle, attack)}[sys.argv[1]](*sys.argv[2:])
