# SPDX-License-Identifier: GPL-2.0-only
"""web.yml: TLS and users, as in Prometheus' exporters, and which settings are refused."""
import os
import shutil
import signal
import ssl
import subprocess
import warnings

import pytest
from service import Serve, refused
from service_manager import Manager
from stalls import readable
from users import AHEAD, SALT, basic, bcrypt


@pytest.fixture
def web(tmp_path):
    def write(text):
        (tmp_path / "web.yml").write_text(text)
        return tmp_path / "web.yml"
    return write


def test_users(web, script):
    file = web(f'basic_auth_users:\n  prometheus: {bcrypt("secret")}\n  über: "{bcrypt("pass:word", kind="b")}"\n')
    with Serve("--replay", script(), "--web-config", file) as s:
        for path in ("/", "/metrics", "/healthz", "/api/snapshot", "/api/stream", "/nowhere"):
            r = s.request(path)
            assert (r.status, r.headers["WWW-Authenticate"]) == (401, 'Basic realm="blklat", charset="UTF-8"')
        assert s.request("/metrics", headers=basic("prometheus", "secret")).status == 200
        assert s.request("/metrics", headers=basic("über", "pass:word")).status == 200
        for name, password in (("prometheus", "Secret"), ("prometheus", ""), ("", ""), ("nobody", "secret"), ("über", "pass"),
                               ("prometheus", "s" * 5000), ("prometheus:secret", "")):
            assert s.request("/metrics", headers=basic(name, password)).status == 401, (name, password)
        for value in ("Basic", "Basic !", "Bearer x", "Basic " + "A" * 3000, "Basic cHJvbWV0aGV1cw=="):
            assert s.request("/metrics", headers={"Authorization": value}).status == 401, value
        assert "warning" not in s.read_stderr()


def cost_ms(serve, name, password, status, times=1):
    """CPU time of that many scrapes with these answers."""
    before = serve.cpu_ms()
    for _ in range(times):
        assert serve.request("/metrics", headers=basic(name, password)).status == status
    return serve.cpu_ms() - before


def test_a_password_is_hashed_once(web, script):
    """The service's CPU time gives the number of hashes: at cost 10 a check takes a twentieth of a second or more, a scrape much less."""
    # A busy neighbour of the CPU makes a hash up to twice as long, so each kind is tried several times, in turn, and the least counts.
    users = [f"user{i}" for i in range(5)]
    file = web("basic_auth_users:\n" + "".join(f'  {user}: {bcrypt("secret" + user, 10)}\n' for user in users))
    with Serve("--replay", script(10, 100), "--web-config", file, prefix=AHEAD) as s:
        took = {"first": [], "known": [], "wrong": [], "nobody": [], "of another": []}
        for user in users:
            took["first"].append(cost_ms(s, user, "secret" + user, 200))
            took["known"].append(cost_ms(s, user, "secret" + user, 200, 5))
            # A wrong password costs the same every time, and also for an unknown user, even if it is right for another user.
            for kind, name, password in (("wrong", user, "wrong"), ("nobody", "nobody", "wrong"), ("of another", "nobody", "secret" + user)):
                took[kind].append(cost_ms(s, name, password, 401))
        least = {kind: min(each) for kind, each in took.items()}
        assert least["known"] < least["first"], took
        for kind in ("wrong", "nobody", "of another"):
            assert least["first"] / 1.5 < least[kind] < least["first"] * 1.5, took


def test_a_password_stays_known_when_users_are_read_again(web, script, tmp_path):
    """After SIGHUP a scrape needs no hash, unless its password was changed; then the old password is wrong."""
    address = str(tmp_path / "notify")
    with Manager(address) as manager:
        def read_again(text):
            web(text)
            s.process.send_signal(signal.SIGHUP)
            assert manager.after_beats().startswith(b"RELOADING=1") and manager.after_beats() == b"READY=1"
        file = web(f'basic_auth_users: {{prometheus: {bcrypt("secret", 10)}}}')
        with Serve("--replay", script(10, 100), "--web-config", file, env={"NOTIFY_SOCKET": address}, prefix=AHEAD) as s:
            assert manager.after_beats().startswith(b"READY=1")
            first = cost_ms(s, "prometheus", "secret", 200)
            read_again(f'basic_auth_users: {{another: {bcrypt("x", 10)}, prometheus: {bcrypt("secret", 10)}}}')
            assert cost_ms(s, "prometheus", "secret", 200, 5) < first / 2
            read_again(f'basic_auth_users: {{prometheus: {bcrypt("changed", 5)}}}')
            cost_ms(s, "prometheus", "secret", 401)
            cost_ms(s, "prometheus", "changed", 200)
            read_again("")
            cost_ms(s, "prometheus", "secret", 200)


def test_users_are_read_again_while_a_password_is_checked(web, script, tmp_path):
    """The check in progress is of a user who has gone: nobody waits for its result."""
    file, address = web(f'basic_auth_users: {{prometheus: {bcrypt("secret", 14)}}}'), str(tmp_path / "notify")
    with Manager(address) as manager, Serve("--replay", script(1000), "--web-config", file, env={"NOTIFY_SOCKET": address}) as s:
        assert manager.after_beats().startswith(b"READY=1")
        threads = len(s.tasks())
        waiting = s.raw(s.get_request("/metrics", headers=basic("prometheus", "secret")))
        s.until(lambda: len(s.tasks()) > threads or readable(waiting), "its check")
        web(f'basic_auth_users: {{another: {bcrypt("changed")}}}')
        s.process.send_signal(signal.SIGHUP)
        # Until then a request can come too late for the server that ends.
        assert manager.after_beats().startswith(b"RELOADING=1") and manager.after_beats() == b"READY=1"
        assert s.request("/metrics", headers=basic("another", "changed")).status == 200
        # On a busy machine the check may be over by then, or the request come to the new server.
        assert waiting.recv(12)[9:] in (b"429", b"200", b"401")
        assert s.request("/metrics", headers=basic("prometheus", "secret")).status == 401


def test_tls(web, script, certificate):
    file = web(f"tls_server_config:\n  cert_file: {certificate}/one.crt\n  key_file: {certificate}/one.key\n")
    with Serve("--replay", script(), "--web-config", file, tls=True) as s:
        assert s.scheme == "https"
        assert s.request("/metrics").status == 200
        assert b"blklat" not in s.exchange(s.get_request("/metrics")).encode()
        for version, works in ((ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_1, False)):
            assert bool(handshake(s, version)) == works
        assert "CN=one" in subject(s)


def handshake(s, version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        # Python warns about TLS 1.1.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    try:
        with s.raw() as plain, context.wrap_socket(plain) as safe:
            return safe.version()
    except (ssl.SSLError, ConnectionError):
        return None


def subject(s):
    """The certificate's subject; empty while one server replaces another."""
    try:
        pem = ssl.get_server_certificate((s.host, s.port))
    except OSError:
        return ""
    return subprocess.run(["openssl", "x509", "-noout", "-subject"], input=pem, capture_output=True, text=True).stdout.replace(" ", "")


def test_tls13_alone(web, script, certificate):
    file = web(f"tls_server_config: {{cert_file: {certificate}/one.crt, key_file: {certificate}/one.key, min_version: TLS13}}")
    with Serve("--replay", script(), "--web-config", file, tls=True) as s:
        assert handshake(s, ssl.TLSVersion.TLSv1_3) and not handshake(s, ssl.TLSVersion.TLSv1_2)


def test_hangup_reads_it_again(tmp_path, script, certificate):
    """A new certificate is used; a broken one is not, and is reported. Paths are relative to the file."""
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config: {cert_file: s.crt, key_file: s.key}")
    for kind in ("crt", "key"):
        shutil.copy(certificate / f"one.{kind}", tmp_path / f"s.{kind}")
    with Serve("--replay", script(300), "--web-config", file, tls=True) as s:
        assert "CN=one" in subject(s)
        for kind in ("crt", "key"):
            shutil.copy(certificate / f"two.{kind}", tmp_path / f"s.{kind}")
        s.process.send_signal(signal.SIGHUP)
        s.until(lambda: "CN=two" in subject(s), "the new certificate")
        shutil.copy(certificate / "one.key", tmp_path / "s.key")
        s.process.send_signal(signal.SIGHUP)
        s.until(lambda: "the certificate or its key is unusable" in s.read_stderr(), "a complaint")
        assert "CN=two" in subject(s)


def test_passwords_without_tls_warn(web, script):
    file = web(f'basic_auth_users: {{prometheus: {bcrypt("secret")}}}')
    with Serve("--replay", script(), "--web-config", file, listen="0.0.0.0:0") as s:
        s.until(lambda: "warning: passwords for 0.0.0.0:" in s.read_stderr(), "a warning")


WRONG = [
    ("basic_auth_users:\n  a: plain", "web.yml:2: the password of 'a' must be a bcrypt hash"),
    ("basic_auth_users:\n  a: [x]", "web.yml:2: the password of 'a' must be a bcrypt hash"),
    (f"basic_auth_users:\n  a: {bcrypt('x')[:-1]}", "web.yml:2: the password of 'a' must be a bcrypt hash"),
    ("basic_auth_users:\n  a: $2y$31$" + SALT + "x" * 31, "web.yml:2: the hash of 'a' has a cost of 31"),
    (f"basic_auth_users:\n  'a:b': {bcrypt('x')}", "web.yml:2: a user name must not"),
    (f"basic_auth_users:\n  a: {bcrypt('x')}\n  a: {bcrypt('x')}", "web.yml:3: user 'a' is given twice"),
    ("basic_auth_users: [a]", "web.yml:1: basic_auth_users must consist of"),
    ("tls_server_config:\n  cert_file: a", "tls_server_config needs both cert_file and key_file"),
    ("tls_server_config:\n  min_version: TLS13", "tls_server_config needs cert_file and key_file"),
    ("tls_server_config:\n  cert_file: nowhere\n  key_file: nowhere", "nowhere: No such file"),
    ("tls_server_config:\n  client_ca_file: ca.crt", "web.yml:2: unknown key 'client_ca_file' in tls_server_config"),
    ("tls_server_config:\n  min_version: SSL3", "web.yml:2: min_version must be TLS12 or TLS13"),
    ("tls_server_config:\n  cert_file: a\n  cert_file: b", "web.yml:3: cert_file is given twice"),
    ("tls_server_config:\n  cert_file: []", "web.yml:2: cert_file must be a string"),
    ("http_server_config:\n  http2: false", "web.yml:1: unknown key 'http_server_config'"),
    ("rate_limit: {}", "web.yml:1: unknown key 'rate_limit'"),
    ("a: b: c", "web.yml:1: this is not valid YAML"),
    ("\tx", "web.yml:1: this is not valid YAML"),
    ("- a", "web.yml:1: the file must consist of 'key: value'"),
    ("just text", "web.yml:1: the file must consist of 'key: value'"),
    ("[a]: b", "web.yml:1: a key must be a string"),
    ("a: \x00", "must be a text"),
]


@pytest.mark.parametrize("text, sentence", WRONG)
def test_wrong(web, script, text, sentence):
    r = refused("--replay", script(1), "--web-config", web(text))
    assert r.returncode == (1 if "No such file" in sentence else 2)
    assert sentence in r.stderr and r.stderr.count("\n") == 1


def test_an_empty_one_is_none(web, script):
    for text in ("", "# nothing\n", "basic_auth_users:\n", "tls_server_config: {}\n"):
        with Serve("--replay", script(1), "--web-config", web(text)) as s:
            assert s.request("/metrics").status == 200


def test_an_address_in_use(script):
    with Serve("--replay", script()) as s:
        r = refused("--replay", script(1), listen=f"127.0.0.1:{s.port}")
        assert r.returncode == 1 and "Address already in use; choose another port by --listen" in r.stderr
        assert os.path.exists(f"/proc/{s.pid}")
