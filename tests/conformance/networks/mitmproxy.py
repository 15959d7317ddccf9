"""What mitmproxy loads: it reaches the service on this machine, whatever name the certificate has."""


def server_connect(data):
    data.server.address = ("127.0.0.1", data.server.address[1])
