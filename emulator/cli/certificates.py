"""A certificate authority of one's own, and a certificate by it (`--tls-self-signed DIR`).

ca.pem  ca-key.pem            the authority: made once, kept, to be trusted by clients
server.pem  server-key.pem    made anew at each start, for the names that the server has then
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.server import TlsError

_CA_DAYS, _SERVER_DAYS = 3650, 397  # browsers refuse certificates of servers that last longer
_ALWAYS = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::")
Key = ec.EllipticCurvePrivateKey


def self_signed(folder: str, names: Iterable[str]) -> tuple[str, str]:
    """Return the files of certificate and key for `names`; raises TlsError if there can be none."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        authority, authority_key = _authority(place)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _server(key, _names(names), authority, authority_key)
        _write(place / "server-key.pem", _pem(key), is_secret=True)
        # The authority's with it, so that clients can be told which one it is.
        chain = certificate.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
        _write(place / "server.pem", chain)
    except (OSError, ValueError) as error:
        raise TlsError(f"No certificate can be made in {folder}: {error}") from error
    return str(place / "server.pem"), str(place / "server-key.pem")


def _names(names: Iterable[str]) -> list[str]:
    own = [name for name in (*names, socket.gethostname()) if name not in _EVERYWHERE and name]
    return list(dict.fromkeys((*_ALWAYS, *own)))


def _authority(place: Path) -> tuple[x509.Certificate, Key]:
    """Read the authority, or make it where there is none or it is about to end."""
    certificate_file, key_file = place / "ca.pem", place / "ca-key.pem"
    if certificate_file.exists() and key_file.exists():
        certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
        key = load_pem_private_key(key_file.read_bytes(), None)
        lasts = certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=_SERVER_DAYS)
        if isinstance(key, Key) and lasts:
            return certificate, key
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Pub/Sub emulator")
    builder = _builder(name, key, name, _CA_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    _write(key_file, _pem(key), is_secret=True)
    _write(certificate_file, certificate.public_bytes(Encoding.PEM))
    return certificate, key


def _server(
    key: Key, names: list[str], authority: x509.Certificate, authority_key: Key
) -> x509.Certificate:
    builder = _builder(_name(names[0]), key, authority.subject, _SERVER_DAYS)
    alternatives = x509.SubjectAlternativeName([_general(name) for name in names])
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    for extension in (alternatives, usage, issuer):
        builder = builder.add_extension(extension, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
    return builder.sign(authority_key, hashes.SHA256())


def _builder(subject: x509.Name, key: Key, issuer: x509.Name, days: int) -> (
    x509.CertificateBuilder
):  # fmt: skip
    now = datetime.now(UTC)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks differ
        .not_valid_after(now + timedelta(days=days))
        .add_extension(identifier, critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(file: Path, content: bytes, *, is_secret: bool = False) -> None:
    """Write a file that another takes the place of at once, a secret one for its owner alone."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    with open(temporary, "wb", opener=lambda path, flags: os.open(
        path, flags, 0o600 if is_secret else 0o644
    )) as opened:  # fmt: skip
        opened.write(content)
    temporary.replace(file)
