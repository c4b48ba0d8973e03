"""Texts encrypted at rest, with the cipher and the key that LangGraph uses for its checkpoints.

A stored value that begins with the mark says how it is to be read; every other value is the text itself. So a database may
hold both, and encryption can be switched on at any time.
"""

import os
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aligngraph.errors import MissingExtraError, StoreError

if TYPE_CHECKING:  # half a second, which a store that encrypts nothing does not pay
    from langgraph.checkpoint.serde.base import CipherProtocol

KEY_VARIABLE: Final = "LANGGRAPH_AES_KEY"
_MARK: Final = "\x01aligngraph:"
_PLAIN: Final = f"{_MARK}plain:"
_KEY_BYTES: Final = (16, 24, 32)


def find_cipher() -> "CipherProtocol":
    """Return the cipher of the key that the environment holds.

    Raises:
        StoreError: the environment holds none, or one of another length.
        MissingExtraError: pycryptodome is not installed.
    """
    return _cipher(os.environ.get(KEY_VARIABLE, ""))


def seal(text: str) -> str:
    """Return the text encrypted.

    Raises:
        StoreError: as for `find_cipher`.
        MissingExtraError: as for `find_cipher`.
    """
    name, sealed = find_cipher().encrypt(text.encode())
    return f"{_MARK}{name}:{b64encode(sealed).decode()}"


def leave_open(text: str) -> str:
    """Return the text as it is stored in clear, which is the text itself unless it looks like a sealed one."""
    return f"{_PLAIN}{text}" if text.startswith(_MARK) else text


def unseal(stored: str) -> str:
    """Return the text that `seal` or `leave_open` has written.

    Raises:
        StoreError: it was encrypted with another key, it was changed, or there is no key.
        MissingExtraError: as for `find_cipher`.
    """
    if not stored.startswith(_MARK):
        return stored
    if stored.startswith(_PLAIN):
        return stored.removeprefix(_PLAIN)
    name, _, sealed = stored.removeprefix(_MARK).partition(":")
    cipher = find_cipher()
    try:
        return cipher.decrypt(name, b64decode(sealed, validate=True)).decode()
    except (ValueError, AssertionError) as error:
        raise StoreError(
            f"a text in the database cannot be decrypted: set {KEY_VARIABLE} to the key that it was encrypted with"
        ) from error


@lru_cache(maxsize=1)
def _cipher(key: str) -> "CipherProtocol":
    if len(key.encode()) not in _KEY_BYTES:
        lengths = ", ".join(map(str, _KEY_BYTES[:-1]))
        got = f"it holds {len(key.encode())} bytes" if key else "it is not set"
        raise StoreError(f"{KEY_VARIABLE} must hold a key of {lengths} or {_KEY_BYTES[-1]} bytes, and {got}")
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer  # noqa: PLC0415 - see TYPE_CHECKING

    try:
        return EncryptedSerializer.from_pycryptodome_aes(key=key.encode()).cipher
    except ImportError as error:
        raise MissingExtraError('encrypted texts need pycryptodome: pip install "aligngraph[encryption]"') from error
