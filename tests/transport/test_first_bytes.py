"""What the first bytes of a connection tell."""

from __future__ import annotations

import pytest

from emulator.transport.first_bytes import HTTP2_PREFACE, Speech, recognise


@pytest.mark.parametrize("length", range(len(HTTP2_PREFACE)))
def test_a_part_of_the_preface_decides_nothing(length: int) -> None:
    assert recognise(HTTP2_PREFACE[:length]) is Speech.UNDECIDED


@pytest.mark.parametrize("length", range(len(HTTP2_PREFACE)))
def test_one_wrong_byte_makes_it_http1(length: int) -> None:
    assert recognise(HTTP2_PREFACE[:length] + b"?") is Speech.HTTP1


@pytest.mark.parametrize(
    ("data", "speech"),
    [
        (HTTP2_PREFACE, Speech.HTTP2),
        (HTTP2_PREFACE + b"\0\0\0\4", Speech.HTTP2),
        (b"GET / HTTP/1.1\r\n\r\n", Speech.HTTP1),
        (b"P", Speech.UNDECIDED),
        (b"PO", Speech.HTTP1),
        (b"PRI * HTTP/1.1\r\n\r\n", Speech.HTTP1),
        (b"\x16", Speech.UNDECIDED),
        (b"\x16\x03", Speech.TLS),
        (b"\x16\x02", Speech.HTTP1),
    ],
)
def test_recognised(data: bytes, speech: Speech) -> None:
    assert recognise(data) is speech
