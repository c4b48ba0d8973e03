"""How checkpoints are written: values of plain types and LangChain's messages only, and encrypted if so wanted."""

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from aligngraph.persistence.sealing import find_cipher


def strict_serializer(*, seals: bool = False) -> SerializerProtocol:
    """Return the serializer; one that seals reads what was written in clear, too.

    Raises:
        StoreError: it seals and there is no key.
        MissingExtraError: it seals and pycryptodome is not installed.
    """
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    return EncryptedSerializer(find_cipher(), strict) if seals else strict
