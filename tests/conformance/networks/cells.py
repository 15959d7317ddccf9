"""The table: what stands between the program and the service, what fails there, and with which exit codes each operation may end.

The exit codes are those of the commands that run while the fault lasts (docs/command-line.md). Whatever they are, no email may be captured twice or be
missing without a statement, and no statement may be false."""

from dataclasses import dataclass, field

from cable import ALWAYS, STAGES
from faults import (
    DEAD, GOAWAY, HANGS, KILL, MAINTENANCE, NOTHING, PAUSE, REFUSED, RELOAD, RELOAD_H2, STOPPED, flag, inner, outer, proxy_user,
)  # fmt: skip

OK, INPUT, REJECTED, AUTH, LIMITED, RETRY, UNKNOWN = {0}, {2}, {3}, {4}, {6}, {7}, {9}


@dataclass(frozen=True)
class Cell:
    proxy: str
    name: str
    # The exit codes by operation; one that isn't named doesn't run.
    expected: dict
    fault: object = NOTHING
    settings: dict = field(default_factory=dict)
    # Many commands and rows, since something happens while they run.
    many: bool = False
    # The delay of each response of the service, in seconds.
    delay: float = 0.0
    timeout: str = "20s"
    # The size of each text, and of an attachment.
    bytes: int = 7
    attachment: int = 0
    # After the base URL's host.
    path: str = ""
    # The user and password of the proxy.
    user: str = ""
    # The cause is permanent, so repeating a command doesn't help.
    permanent: bool = False
    # Why an email may be captured twice here.
    excused: str = ""


def codes(send, bulk=None, keyed=None):
    """The exit codes of `emails send`, which are those of `emails batch`; of a job; and of a send with a key of its own, for which 9 is 7."""
    keyed = keyed or ((send - UNKNOWN) | RETRY if send & UNKNOWN else send)
    every = {"send": send, "keyed": keyed, "batch": send, "bulk": bulk}
    return {operation: allowed for operation, allowed in every.items() if allowed}


ALL_OK = codes(OK, bulk=OK)
# The outcome of an email is unknown, and a job waits until it can be determined.
ALL_UNKNOWN = codes(UNKNOWN, bulk=RETRY)
# haproxy resets the connection after its response, which can hide it.
RESET = REJECTED | UNKNOWN
# The program sends while a part is replaced.
DISTURBED = codes(OK | RETRY | UNKNOWN, bulk=OK | RETRY)

TLS = {"listen": "ssl http2", "tls": "ssl_certificate @folder@/leaf.pem; ssl_certificate_key @folder@/leaf.key;", "log": "debug"}
H2 = {"bind": "ssl crt @folder@/both.pem alpn h2,http/1.1"}
STRIPPED = {"header": 'proxy_set_header Idempotency-Key "";'}
REPEATS = {"second": "", "next": "error timeout non_idempotent"}
EARLY_413 = {"rules": "http-request deny deny_status 413 if { req.hdr_val(content-length) gt 4000 }"}
PASSWORD = {
    "rules": "auth_param basic program /usr/lib/squid/basic_ncsa_auth @folder@/passwords\n"
    "acl known proxy_auth REQUIRED\nhttp_access deny !known"
}

NGINX = [
    Cell("nginx", "keep-alive on", ALL_OK | {"doctor": OK}),
    Cell("nginx", "keep-alive off", ALL_OK, settings={"keepalive": "0"}),
    Cell("nginx", "gzip", ALL_OK, settings={"gzip": "on"}),
    Cell("nginx", "path prefix", ALL_OK, settings={"prefix": "/mail/v1/"}, path="/mail/v1"),
    Cell("nginx", "reload", ALL_OK, RELOAD, many=True, delay=0.1),
    Cell("nginx", "kill", DISTURBED, KILL, many=True, delay=0.1),
    Cell("nginx", "200 HTML", codes(UNKNOWN, bulk=RETRY, keyed=UNKNOWN), flag("200")),
    Cell("nginx", "302 HTML", codes(AUTH, bulk=AUTH), flag("302")),
    Cell("nginx", "404 HTML", codes(AUTH, bulk=AUTH), flag("404")),
    Cell("nginx", "413", codes(REJECTED, bulk=LIMITED), settings={"largest": "8k"}, bytes=20_000, permanent=True),
    Cell("nginx", "429 HTML at 5/s", codes(OK | LIMITED, bulk=OK), settings={"rate": "5r/s", "burst": ""}, many=True),
    Cell("nginx", "502", ALL_UNKNOWN, flag("502")),
    Cell("nginx", "502, service down", ALL_UNKNOWN, REFUSED),
    Cell("nginx", "502, response lost", ALL_OK, inner("executed", "rst")),
    Cell("nginx", "503", ALL_UNKNOWN, flag("503")),
    Cell("nginx", "503, briefly", ALL_OK, flag("503", briefly=True)),
    Cell("nginx", "503 with Retry-After, briefly", ALL_OK, flag("503-retry-after", briefly=True)),
    Cell("nginx", "504, not executed", ALL_UNKNOWN, inner("request", "hang", ALWAYS)),
    Cell("nginx", "504, executed", ALL_UNKNOWN, inner("executed", "hang", ALWAYS)),
    Cell("nginx", "504, executed, once", ALL_OK, inner("executed", "hang")),
    Cell("nginx", "504, service stopped", ALL_UNKNOWN, STOPPED),
    Cell("nginx", "repeats requests", ALL_OK, inner("executed", "cut"), settings=REPEATS),
    Cell("nginx", "key stripped", ALL_OK | {"doctor": REJECTED}, settings=STRIPPED),
    Cell("nginx", "key stripped, response lost", ALL_OK, inner("executed", "rst"), settings=STRIPPED, excused="no key"),
    Cell("nginx", "h2", ALL_OK, settings=TLS),
    Cell("nginx", "h2, large", ALL_OK, settings=TLS, bytes=40_000),
    Cell("nginx", "h2, GOAWAY", {"bulk": OK}, GOAWAY, settings=TLS | {"requests": "3"}, many=True, delay=0.1),
    Cell("nginx", "h2, reload", {"bulk": OK}, RELOAD_H2, settings=TLS, many=True, delay=0.1),
    Cell("nginx", "h2, kill", DISTURBED, KILL, settings=TLS, many=True, delay=0.1),
]
HAPROXY = [
    Cell("haproxy", "keep-alive on", ALL_OK),
    Cell("haproxy", "keep-alive off", ALL_OK, settings={"options": "option httpclose"}),
    Cell("haproxy", "reload", ALL_OK, RELOAD, many=True, delay=0.1),
    Cell("haproxy", "kill", DISTURBED, KILL, many=True, delay=0.1),
    Cell("haproxy", "413 early", codes(RESET, bulk=LIMITED), settings=EARLY_413, bytes=20_000, permanent=True),
    Cell("haproxy", "413 early, 20 MB", {"send": RESET}, settings=EARLY_413, attachment=20_000_000, permanent=True),
    Cell("haproxy", "429 HTML", codes(LIMITED), settings={"rules": "http-request deny deny_status 429"}, permanent=True),
    Cell("haproxy", "502, service cuts", ALL_UNKNOWN, inner("request", "cut", ALWAYS)),
    Cell("haproxy", "503, no server", ALL_UNKNOWN, MAINTENANCE),
    Cell("haproxy", "504, service stopped", ALL_UNKNOWN, STOPPED),
    Cell("haproxy", "repeats requests", ALL_OK, inner("executed", "cut"), settings={"retry": "retry-on all-retryable-errors"}),
    Cell("haproxy", "h2, reload", ALL_OK, RELOAD, settings=H2, many=True, delay=0.1),
    Cell("haproxy", "h2, 502 once", ALL_OK, inner("executed", "cut"), settings=H2),
]
STUNNEL = [
    Cell("stunnel", "TLS", ALL_OK),
    Cell("stunnel", "RST in the handshake", ALL_OK, outer("head", "rst")),
    Cell("stunnel", "service resets", ALL_OK, inner("executed", "rst")),
    Cell("stunnel", "service cuts a response", ALL_OK, inner("response-body", "cut")),
    Cell("stunnel", "service resets a response", ALL_OK, inner("response-body", "rst")),
    Cell("stunnel", "reload", DISTURBED, RELOAD, many=True, delay=0.1),
    Cell("stunnel", "kill", DISTURBED, KILL, many=True, delay=0.1),
]
SQUID = [
    Cell("squid", "CONNECT", ALL_OK),
    Cell("squid", "CONNECT with a password", ALL_OK, settings=PASSWORD, user="ada:sesame@"),
    Cell("squid", "password missing", codes(INPUT, bulk=AUTH), proxy_user(""), settings=PASSWORD),
    Cell("squid", "password wrong", codes(INPUT, bulk=AUTH), proxy_user("ada:wrong@"), settings=PASSWORD),
    Cell("squid", "CONNECT denied", codes(AUTH, bulk=AUTH), settings={"rules": "http_access deny all"}, permanent=True),
    Cell("squid", "proxy dead", codes(RETRY, bulk=RETRY), DEAD),
    Cell("squid", "proxy hangs", codes(RETRY, bulk=RETRY), HANGS, timeout="4s"),
    Cell("squid", "RST in CONNECT, once", ALL_OK, outer("head", "rst")),
    Cell("squid", "response lost in the tunnel", ALL_OK, inner("executed", "rst")),
    Cell("squid", "reload", DISTURBED, RELOAD, many=True, delay=0.1),
    Cell("squid", "kill", DISTURBED, KILL, many=True, delay=0.1),
]

# Reads the traffic that it forwards, using its own certificates.
MITMPROXY = [
    Cell("mitmproxy", "authority trusted", ALL_OK),
    Cell("mitmproxy", "authority trusted, large", ALL_OK, bytes=40_000),
    Cell("mitmproxy", "authority unknown", codes(AUTH, bulk=AUTH), settings={"authority": "stranger"}, permanent=True),
    Cell("mitmproxy", "502, service down", ALL_UNKNOWN, REFUSED),
    Cell("mitmproxy", "response lost", ALL_OK, inner("executed", "rst")),
    Cell("mitmproxy", "service cuts a response", ALL_OK, inner("response-body", "cut")),
    Cell("mitmproxy", "kill", DISTURBED, KILL, many=True, delay=0.1),
]


def always(stage):
    """The exit codes if every exchange fails at this stage."""
    if stage == "accept":
        # Depends on whether the program notices before it sends.
        return codes(RETRY | UNKNOWN, bulk=RETRY)
    # The email was accepted, and the key makes it safe to retry.
    return codes(UNKNOWN, bulk=RETRY, keyed=UNKNOWN if stage == "response-body" else None)


DIRECT = [
    Cell("", f"{action} at {stage}{', always' if times == ALWAYS else ''}", always(stage) if times == ALWAYS else ALL_OK, inner(stage, action, times))
    for stage in STAGES
    for action in ("rst", "cut")
    for times in (1, ALWAYS)
] + [
    Cell("", "service hangs", codes(UNKNOWN), inner("request", "hang", ALWAYS), timeout="3s"),
    Cell("", "service stopped", codes(UNKNOWN), STOPPED, timeout="3s"),
    Cell("", "service stopped and continued", DISTURBED, PAUSE, many=True, delay=0.1),
]  # fmt: skip
CELLS = NGINX + HAPROXY + STUNNEL + SQUID + MITMPROXY + DIRECT
