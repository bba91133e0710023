"""TLS in tests: the gateway's configuration, and clients that speak it."""
import select
import ssl
import threading
import time

from harness import Client


def listener(*certificates, bind="127.0.0.1:0", **tls):
    return {"bind": bind, "tls": {"certificates": [c if isinstance(c, dict) else c.config() for c in certificates], **tls}}


def tls_config(*certificates, config=None, **tls):
    return {"routes": [{"name": "all", "respond": "hello"}], **(config or {}), "listeners": [listener(*certificates, **tls)]}


def context_for(authority, pair=None, version=None, ciphers=None, alpn=None):
    context = ssl.create_default_context(cafile=str(authority.cert))
    if pair:
        context.load_cert_chain(pair.cert, pair.key)
    if version:
        context.minimum_version = context.maximum_version = version
    if ciphers:
        context.set_ciphers(ciphers)
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


class Turns:
    """A TLS socket that one thread may send on while another reads: Python's own are not made for that."""

    def __init__(self, tls):
        self.tls, self.turn, self.patience = tls, threading.Lock(), tls.gettimeout()
        tls.setblocking(False)

    def __getattr__(self, name):
        return getattr(self.tls, name)

    def _until(self, action):
        end = time.monotonic() + self.patience
        while True:
            with self.turn:
                try:
                    return action()
                except ssl.SSLWantReadError:
                    wants = [self.tls], []
                except ssl.SSLWantWriteError:
                    wants = [], [self.tls]
            if time.monotonic() > end:
                raise TimeoutError("the gateway is silent")
            select.select(*wants, [], 0.01)

    def recv(self, count):
        return self._until(lambda: self.tls.recv(count))

    def sendall(self, data):
        rest = memoryview(data)
        while rest:
            rest = rest[self._until(lambda: self.tls.send(rest[:65536])):]


class TlsClient(Client):
    """The raw client over TLS. An end without close_notify is an error."""

    def __init__(self, gateway, context, name="a.example", session=None):
        super().__init__(gateway.address)
        try:
            self.socket = Turns(context.wrap_socket(self.socket, server_hostname=name, session=session, suppress_ragged_eofs=False))
        except BaseException:
            self.socket.close()
            raise
