"""The few bytes of protobuf the benchmark speaks.

The client must cost far less than the servers it loads, and it measures checkouts whose message
classes may differ: requests are built once, and of replies only the ack ids are read.
"""

_VARINT, _BYTES = 0, 2
_ACK_ID_TAG = 1 << 3 | _BYTES


def varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    """Encode an integer field."""
    return varint(field << 3 | _VARINT) + varint(value)


def block(field: int, content: bytes) -> bytes:
    """Encode a string, bytes or message field."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """Encode a string field."""
    return block(field, content.encode())


def sized_ack_ids(reply: bytes) -> list[bytes]:
    """Return the ack ids of a PullResponse or StreamingPullResponse, each behind its length.

    Both carry their messages in field 1, and have no field that is not length-delimited.
    """
    found = []
    position, end = 0, len(reply)
    while position < end:
        tag = reply[position]
        size, start = _read_varint(reply, position + 1)
        position = start + size
        if tag == 1 << 3 | _BYTES:
            found.append(_sized_ack_id(reply, start))
    return found


def _sized_ack_id(reply: bytes, position: int) -> bytes:
    """Return the first field 1 from `position` on, where a ReceivedMessage begins."""
    while reply[position] != _ACK_ID_TAG:
        is_block = reply[position] & 7 == _BYTES
        value, position = _read_varint(reply, position + 1)
        position += value if is_block else 0
    size, start = _read_varint(reply, position + 1)
    return reply[position + 1 : start + size]


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number that starts at `position`, and where the next byte after it is."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    value &= 0x7F
    shift = 7
    while True:
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
