# SPDX-License-Identifier: GPL-2.0-only
"""A collector of OpenTelemetry's on loopback, for 'serve --otlp'."""
import gzip
import http.server
import threading
import time
import types

import otlp


class Collector:
    """
    Answers one request after the other by @answers, (status, headers, body) each, or None to close the connection, or a number of
    seconds to wait before that; then always by 200.
    """

    def __init__(self, *answers, port=0, tls=None):
        collector = self
        self.answers = list(answers)
        self.requests = []  # all of them
        self.taken = []  # what 200 was the answer to

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got = types.SimpleNamespace(at=time.monotonic(), path=self.path, headers=self.headers, body=gzip.decompress(body))
                collector.requests.append(got)
                answer = collector.answers.pop(0) if collector.answers else (200, {}, b"")
                if not isinstance(answer, tuple):
                    time.sleep(answer or 0)
                    self.close_connection = True
                    return
                status, headers, text = answer
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
                if status == 200:
                    collector.taken.append(got)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.url = f"http{'s' if tls else ''}://localhost:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

    def intervals(self):
        """How many intervals had ended by each request that it took."""
        return [otlp.pushed(got.body)[2]["blklat.capture.intervals"]["points"][0]["value"] for got in self.taken]
