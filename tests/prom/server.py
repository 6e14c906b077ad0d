# SPDX-License-Identifier: GPL-2.0-only
"""A real Prometheus on loopback, and its target: an HTTP server of a few lines in front of a Player."""
import http.server
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from waiting import wait_until

import tools

RULES = pathlib.Path(__file__).resolve().parents[2] / "packaging/prometheus/blklat.rules.yml"


class Exporter:
    """Answers GET /metrics from a player, one request at a time like the player."""

    def __init__(self, player):
        exporter = self
        self.lock = threading.Lock()
        self.player = player
        self.ticks = 0
        self.scrapes = []  # (Accept, Content-Type, bytes)
        self.seen = []  # (Accept, when, ticks by then)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                accept = self.headers.get("Accept", "")
                with exporter.lock:
                    kind, body = player.get(accept)
                    exporter.scrapes.append((accept, kind, len(body)))
                    exporter.seen.append((accept, time.time(), exporter.ticks))
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def tick(self):
        with self.lock:
            self.ticks += 1
            return self.player.tick()

    def known_to(self):
        """How many servers have scraped the last tick."""
        with self.lock:
            return len({accept for accept, _, ticks in self.seen if ticks == self.ticks})

    def pace(self, accept, begin, end):
        """Ticks a second as a server saw them, from its first scrape to its last in this time."""
        with self.lock:
            seen = [(when, ticks) for asked, when, ticks in self.seen if asked == accept and begin < when <= end]
        (first, before), (last, after) = seen[0], seen[-1]
        return (after - before) / (last - first)

    def open(self, file):
        with self.lock:
            self.player.open(file)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)


def play(exporters, ticks):
    """Ticks all hosts each time both servers have scraped the previous tick: about once a second. Returns the times of all ticks and the end."""
    times = []
    for _ in range(ticks + 1):
        for e in exporters:
            wait_until(lambda e=e: e.known_to() == 2, "scrape", every_s=0.1)
        times.append(time.time())
        if len(times) <= ticks:
            for e in exporters:
                assert e.tick()
    return times


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    """Scrapes the exporters each second and evaluates the rules as often."""
    LISTEN = "--web.listen-address"

    def __init__(self, addresses, rules=(), native=False, exemplars=False):
        self.at = {}  # the time of queries; none: now
        self.folder = tempfile.TemporaryDirectory(prefix="blklat-prometheus-")
        folder = pathlib.Path(self.folder.name)
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                  "rule_files": [str(pathlib.Path(r).resolve()) for r in rules],
                  "scrape_configs": [{"job_name": "blklat", "static_configs": [{"targets": list(addresses)}]}]}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        self.log = folder / "log"
        self.argv = [tools.find("prometheus"), "--log.level=debug", f"--config.file={folder}/prometheus.yml",
                     f"--storage.tsdb.path={folder}/data"]
        features = ["native-histograms"] * native + ["exemplar-storage"] * exemplars
        if features:
            self.argv.append(f"--enable-feature={','.join(features)}")
        self.until_ready()

    def until_ready(self):
        self.start()
        try:
            wait_until(self.ready, type(self).__name__, every_s=0.1)
        except BaseException:
            self.close()
            raise

    def start(self):
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*self.argv, f"{self.LISTEN}={address}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.log.parent)

    def ready(self):
        if self.process.poll() is not None:
            # The port was free a moment ago, but may be taken now.
            assert "address already in use" in self.said(), self.said()
            self.start()
        try:
            return urllib.request.urlopen(self.url + "/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def said(self):
        return self.log.read_text()

    def assert_scrapes(self):
        """Prometheus understood every answer. Now and then an answer may be late, as the machine may be busy."""
        failed = [line for line in self.said().splitlines() if "Scrape failed" in line or "Append failed" in line]
        odd = [line for line in failed if "deadline exceeded" not in line]
        assert not odd, odd
        wait_until(lambda: (shares := self.query("avg_over_time(up[5m])")) and all(share > 0.5 for _, share in shares), "answers in time")

    def api(self, path, **parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as r:
                return json.load(r)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{path} {parameters}: {e.read().decode()}") from None

    def settled(self, since, targets):
        """Whether @since no scrape failed for three seconds. If so, later queries are of now: what fails then changes nothing."""
        now = time.time()
        if now < since + 3 or [v for _, v in self.query("min_over_time(up[3s])", time=now)] != [1] * targets:
            return False
        self.at = {"time": now}
        return True

    def query(self, expression, **parameters):
        """[(labels, value)] of an instant query; a histogram's value is its JSON."""
        rows = self.api("query", query=expression, **{**self.at, **parameters})["result"]
        return [(r["metric"], float(r["value"][1]) if "value" in r else r["histogram"][1]) for r in rows]

    def value(self, expression, **parameters):
        rows = self.query(expression, **parameters)
        assert len(rows) == 1, (expression, rows)
        return rows[0][1]

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
