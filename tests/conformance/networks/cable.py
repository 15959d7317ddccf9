"""A cable between a client and a server on loopback, which fails at a chosen stage of an HTTP/1 exchange.

The stages, in order; until `executed`, the server has seen nothing of the request:

accept          the connection is accepted, nothing is read
head            the head of the request is read
body            half of the body is read
request         the request is complete
executed        the server has responded; nothing of the response is passed on
response-head   half of the response's head is passed on
response-body   the head and half of the body are passed on

The actions: `rst` resets the connection, `cut` closes it after reading what the client sends, `hang` holds it until the client gives up or the
cable is mended."""

import contextlib
import re
import socket
import struct
import threading
import time

STAGES = ("accept", "head", "body", "request", "executed", "response-head", "response-body")
ALWAYS = 1 << 30
# The maximum time for which a broken or held connection stays open, in seconds.
HELD = 30


class Failed(Exception):
    """The cable has failed, and the connection with it."""


class Reader:
    """A socket with what was read ahead."""

    def __init__(self, connection):
        self.connection, self.ahead = connection, b""

    def more(self):
        part = self.connection.recv(65536)
        if not part:
            raise EOFError
        self.ahead += part

    def exactly(self, count):
        while len(self.ahead) < count:
            self.more()
        taken, self.ahead = self.ahead[:count], self.ahead[count:]
        return taken

    def until(self, end):
        while end not in self.ahead:
            self.more()
        return self.exactly(self.ahead.index(end) + len(end))

    def rest(self):
        with contextlib.suppress(EOFError):
            while True:
                self.more()
        return self.exactly(len(self.ahead))


def header(head, name):
    found = re.search(rb"\r\n" + name + rb":[ \t]*([^\r]*)", head, re.IGNORECASE)
    return found.group(1).lower() if found else None


def body_length(head):
    """The length that a head announces, or None for a body in chunks."""
    if header(head, b"transfer-encoding") is not None:
        return None
    return int(header(head, b"content-length") or 0)


def chunks(reader):
    body = b""
    while True:
        line = reader.until(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body += line + reader.exactly(size + 2)
        if size == 0:
            return body


class Cable:
    """Listens on `port`, and connects to `upstream`. With `raw`, bytes are passed on as they are, and the stages are `accept` and `head`, after the
    first bytes: those of TLS or a tunnel can't be read."""

    def __init__(self, port, upstream, *, raw=False, delay=0.0):
        self.port, self.upstream, self.raw, self.delay = port, upstream, raw, delay
        self.lock = threading.Lock()
        self.stage, self.action, self.times, self.struck = "", "", 0, 0
        self.mended = threading.Event()
        self.mended.set()
        self.connections = set()
        self.listener = None
        self.connect()

    def connect(self):
        """Listens, unless it does."""
        if self.listener is None:
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
            threading.Thread(target=self.listen, args=(self.listener,), daemon=True).start()

    def unplug(self):
        """Closes all connections, and refuses others until it is mended."""
        listener, self.listener = self.listener, None
        # Otherwise, a thread blocked in `accept` keeps the socket open.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def fail(self, stage, action, times=1):
        """Fails the next exchanges that reach the stage."""
        with self.lock:
            self.stage, self.action, self.times, self.struck = stage, action, times, 0
        self.mended.clear()

    def mend(self):
        with self.lock:
            self.times = 0
        self.mended.set()
        self.connect()

    def close(self):
        self.mended.set()
        if self.listener is not None:
            self.unplug()

    def listen(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.settimeout(HELD)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def at(self, stage, client):
        """Fails here, if this is the stage."""
        with self.lock:
            if self.stage != stage or self.times == 0:
                return
            self.times -= 1
            self.struck += 1
            action = self.action
        if action == "rst":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif action == "cut":
            # Unread bytes would reset the connection.
            client.shutdown(socket.SHUT_WR)
            client.settimeout(1)
            while client.recv(65536):
                pass
        else:
            self.hold(client)
        raise Failed

    def hold(self, client):
        client.settimeout(0.1)
        for _ in range(HELD * 10):
            with contextlib.suppress(TimeoutError):
                if not client.recv(65536):
                    return
            if self.mended.is_set():
                return

    def serve(self, client):
        server = None
        self.connections.add(client)
        try:
            self.at("accept", client)
            server = socket.create_connection(("127.0.0.1", self.upstream), timeout=HELD)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.raw:
                self.pass_on(client, server)
            else:
                requests, responses = Reader(client), Reader(server)
                while self.exchange(requests, responses):
                    pass
        except (Failed, EOFError, OSError):
            pass
        finally:
            self.connections.discard(client)
            for connection in (client, server):
                if connection is not None:
                    connection.close()

    def exchange(self, requests, responses):
        """One request and its response. Returns whether another one can follow."""
        client, server = requests.connection, responses.connection
        head = requests.until(b"\r\n\r\n")
        self.at("head", client)
        if header(head, b"expect") == b"100-continue":
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = re.sub(rb"\r\nexpect:[^\r]*", b"", head, flags=re.IGNORECASE)
        length = body_length(head)
        if length is None:
            body = chunks(requests)
        else:
            body = requests.exactly(length // 2)
            self.at("body", client)
            body += requests.exactly(length - length // 2)
        self.at("request", client)
        server.sendall(head + body)
        status = responses.until(b"\r\n\r\n")
        length = body_length(status)
        if length is None:
            answer = chunks(responses)
        elif header(status, b"content-length") is None and not re.match(rb"HTTP/1\.. (1|204|304)", status):
            answer = responses.rest()
        else:
            answer = responses.exactly(length)
        self.at("executed", client)
        time.sleep(self.delay)
        client.sendall(status[: len(status) // 2])
        self.at("response-head", client)
        client.sendall(status[len(status) // 2 :] + answer[: len(answer) // 2])
        self.at("response-body", client)
        client.sendall(answer[len(answer) // 2 :])
        return b"close" not in (header(head, b"connection"), header(status, b"connection"))

    def pass_on(self, client, server):
        first = client.recv(65536)
        self.at("head", client)
        server.sendall(first)

        def back():
            with contextlib.suppress(OSError):
                while part := server.recv(65536):
                    client.sendall(part)
                client.shutdown(socket.SHUT_WR)

        threading.Thread(target=back, daemon=True).start()
        while part := client.recv(65536):
            server.sendall(part)
        server.shutdown(socket.SHUT_WR)
