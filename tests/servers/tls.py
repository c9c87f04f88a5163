"""TLS in front of a plain server, under an authority of our own."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    ca_file: Path
    """PEM that a client must trust."""
    chain: Path
    """Certificate of 127.0.0.1 and its key."""


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    folder = tmp_path_factory.mktemp("tls")
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
    ca = (
        _certificate(ca_name, ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
    ours = (
        _certificate(name, ca_name, key)
        .add_extension(address, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "chain.pem").write_bytes(ours.public_bytes(pem) + secret)
    return Authority(ca_file=folder / "ca.pem", chain=folder / "chain.pem")


@pytest.fixture
def with_tls(authority: Authority) -> Iterator[Callable[[str], str]]:
    """Gives an https address for an http one."""
    listeners: list[socket.socket] = []

    def serve(url: str) -> str:
        parts = urlsplit(url)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.chain)
        listener = socket.create_server((HOST, 0))
        listeners.append(listener)
        behind = (str(parts.hostname), parts.port or 80)
        threading.Thread(target=_accept, args=(listener, context, behind), daemon=True).start()
        return f"https://{HOST}:{listener.getsockname()[1]}{parts.path}"

    yield serve
    for listener in listeners:
        listener.close()


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - dt.timedelta(hours=1),
        not_valid_after=now + dt.timedelta(days=1),
    )


def _accept(listener: socket.socket, context: ssl.SSLContext, behind: tuple[str, int]) -> None:
    while True:
        try:
            raw, _ = listener.accept()
        except OSError:  # closed
            return
        threading.Thread(target=_serve, args=(raw, context, behind), daemon=True).start()


def _serve(raw: socket.socket, context: ssl.SSLContext, behind: tuple[str, int]) -> None:
    with (
        suppress(OSError),
        context.wrap_socket(raw, server_side=True) as client,
        socket.create_connection(behind) as server,
    ):
        back = threading.Thread(target=_pump, args=(server, client), daemon=True)
        back.start()
        _pump(client, server)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
