"""The topic of content that is published in our own shape, and what its records say in their headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.domain.intake import LeftOut, MappedRecord, Violations
from gristmill.plans.plan import Generator

__all__ = ["INPUT_ID_HEADER", "NATIVE", "TENANT_HEADER", "attribute", "native_generator"]

NATIVE = "items"
"""Type, topic and source of it."""

INPUT_ID_HEADER = "input-id"
"""The input id of a record that brings none, given to it when it was published."""

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
