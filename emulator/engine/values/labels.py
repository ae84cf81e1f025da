"""Labels of topics, subscriptions and snapshots (LBL-01, LBL-02)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from emulator.engine.values import errors, limits

_LETTERS = ("Ll", "Lo")


def check(labels: Mapping[str, str]) -> None:
    """Raise INVALID_ARGUMENT for the first label that the service would not take."""
    if len(labels) > limits.LABELS:
        raise errors.too_large("labels", len(labels), limits.LABELS)
    for key, value in labels.items():
        _check_key(key)
        _check_value(key, value)


def _check_key(key: str) -> None:
    if unicodedata.category(key[:1] or " ") not in _LETTERS:
        raise errors.bad_label_key_start(key)
    if len(key) > limits.LABEL_KEY_CHARACTERS or not _is_plain(key):
        raise errors.bad_label_key(key)


def _check_value(key: str, value: str) -> None:
    if len(value) > limits.LABEL_VALUE_CHARACTERS:
        raise errors.long_label_value(key, value, limits.LABEL_VALUE_CHARACTERS)
    if not _is_plain(value):
        raise errors.bad_label_value(key, value)


def _is_plain(text: str) -> bool:
    if len(text.encode()) > limits.LABEL_BYTES:
        return False
    return all(
        c in "_-" or unicodedata.category(c) in _LETTERS or unicodedata.category(c)[0] == "N"
        for c in text
    )
