"""A Source as its file says it, checked and not yet compiled."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from gristmill.domain.input_key import TENANT_DEFAULT

__all__ = [
    "ConversionStep",
    "Decode",
    "FieldRule",
    "FilterRule",
    "Framing",
    "IdentityRules",
    "OnBad",
    "RecordSchema",
    "SourceDefinition",
]

Decode = Literal["json", "csv", "parquet", "protobuf", "avro"]
Framing = Literal["none", "confluent"]
OnBad = Literal["quarantine", "skip"]
Order = Literal["keyed", "free"]
TrafficClass = Literal["live", "replay", "bulk", "trial"]


class ConversionStep(msgspec.Struct, frozen=True):
    """One conversion with its argument (`split` by a sign); None where it takes none or has a default."""

    name: str
    argument: str | None = None


class FieldRule(msgspec.Struct, frozen=True, kw_only=True):
    """How one field is filled.

    Attributes:
        to: a standard field, or `ext.<tenant>.<field>`.
        path: JSONPath (RFC 9535) into the record.
        required: a record without a value is bad.
        default: for a record without a value; None where there is none.
        convert: applied in order, to each value.
        many: all values as a list; otherwise more than one value is bad.
    """

    to: str
    path: str
    required: bool = False
    default: Any = None
    convert: tuple[ConversionStep, ...] = ()
    many: bool = False
    line: int = 0


class FilterRule(msgspec.Struct, frozen=True):
    """Leaves a record out, under the name `drop`, when its item fulfils the CEL condition `when`."""

    drop: str
    when: str
    line: int = 0


class IdentityRules(msgspec.Struct, frozen=True):
    """JSONPaths of what tells records apart.

    Attributes:
        biz_id: the id that the source uses.
        revision: a whole number that grows with each version; empty: `at`, or else the position in the log.
        at: when this version came to be; the item's time where `created_at` is not mapped. May be empty.
        deleted: true for a record that takes its item away. May be empty.
    """

    biz_id: str
    revision: str = ""
    at: str = ""
    deleted: str = ""


class RecordSchema(msgspec.Struct, frozen=True):
    """What records of `decode: protobuf` and `decode: avro` are read by.

    Attributes:
        content: a compiled FileDescriptorSet, or an Avro schema as JSON.
        message: full name of the message, of protobuf alone.
        framing: `confluent` where a schema id stands before each record.
    """

    content: bytes
    message: str = ""
    framing: Framing = "none"


class SourceDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """One revision of a Source.

    Attributes:
        kind: `post`, `comment`, `article` or `image`.
        topic: log topic that its records come from; empty for files and HTTP.
        schema: of records that are no JSON, None for all others.
        fields: in the order of the file.
        extension: field name -> JSON Schema, for the tenant's own fields.
        start: plan keys for its items, where the command gives none.
        order, traffic_class: kept for brokers with ordered keys and for shares of traffic; every log that there is
            now keeps the order of its records as far as the number of engines allows.
        text: the file as it is.
        hash: 16 hexadecimal digits over `text`.
    """

    name: str
    tenant: str = TENANT_DEFAULT
    kind: str
    topic: str = ""
    decode: Decode = "json"
    schema: RecordSchema | None = None
    identity: IdentityRules
    fields: tuple[FieldRule, ...]
    extension: Mapping[str, Any] = MappingProxyType({})
    filters: tuple[FilterRule, ...] = ()
    on_bad: OnBad = "quarantine"
    order: Order = "free"
    traffic_class: TrafficClass = "live"
    start: tuple[str, ...] = ()
    text: str = ""
    hash: str = ""

    @property
    def address(self) -> str:
        """How a generator names it: its name, after the tenant's where that is not the default one."""
        return self.name if self.tenant == TENANT_DEFAULT else f"{self.tenant}/{self.name}"
