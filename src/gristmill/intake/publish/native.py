"""The topic of content that is published, and what its records say in their headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.plans.plan import Generator

__all__ = ["INPUT_ID_HEADER", "NATIVE", "SOURCE_HEADER", "TENANT_HEADER", "attribute", "native_generator", "tenant_of"]

NATIVE = "items"
"""Type, topic and source of it."""

NATIVE_TOPICS = (NATIVE, f"{NATIVE}.recovery")
"""With the one that failed records wait on, which keep their headers."""

INPUT_ID_HEADER = "input-id"
"""The input id of a record that brings none, given to it when it was published."""

SOURCE_HEADER = "source"
"""The Source that maps it, where it is not in our own shape."""

TENANT_HEADER = "tenant"
"""Whose content it is, where that is not the default tenant."""


def native_generator(plans: Sequence[str]) -> Generator:
    """Return what feeds published content to plans."""
    return Generator(type=NATIVE, topic=NATIVE, plans=tuple(plans), source=NATIVE)


def attribute(
    mapped: MappedRecord | Violations | LeftOut, headers: Mapping[str, str], generator: Generator
) -> MappedRecord | Violations | LeftOut:
    """Return a record as that of its tenant.

    Only on our own topic does the header count: elsewhere whoever writes records would choose whose they are.
    """
    if generator.type != NATIVE or not isinstance(mapped, MappedRecord) or TENANT_HEADER not in headers:
        return mapped
    return msgspec.structs.replace(mapped, tenant=headers[TENANT_HEADER])


def tenant_of(headers: Mapping[str, str], topic: str) -> str:
    """Return whose a record of a log is: on our own topics as its header says, elsewhere the default tenant's."""
    return headers.get(TENANT_HEADER, TENANT_DEFAULT) if topic in NATIVE_TOPICS else TENANT_DEFAULT
