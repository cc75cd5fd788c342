"""Values as bytes and back: JSON for people and other programs, MessagePack for our own stores.

The only place that knows how a `Url` is written (as its text) and that reading one back must not parse it again.
"""

from typing import TypeVar

import msgspec

from outrider.model.url import Url

T = TypeVar("T")


def _write(value: object) -> object:
    if isinstance(value, Url):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not a value of the model")


def _read(wanted: type, value: object) -> object:
    if wanted is Url and isinstance(value, str):
        return Url.trusted(value)
    raise NotImplementedError(f"{wanted.__name__} is not a value of the model")


_json = msgspec.json.Encoder(enc_hook=_write)
_pack = msgspec.msgpack.Encoder(enc_hook=_write)


def to_json(value: object) -> bytes:
    return _json.encode(value)


def from_json(data: bytes | str, wanted: type[T]) -> T:
    return msgspec.json.decode(data, type=wanted, dec_hook=_read)


def to_bytes(value: object) -> bytes:
    return _pack.encode(value)


def from_bytes(data: bytes, wanted: type[T]) -> T:
    return msgspec.msgpack.decode(data, type=wanted, dec_hook=_read)
