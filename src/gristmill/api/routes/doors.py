"""Which door a publisher goes in by: source and tenant of a call, and what makes a repeated call happen once."""

from __future__ import annotations

import hashlib

import msgspec

from gristmill.api.calls import Call, Parameter
from gristmill.api.problems import Fault, problem
from gristmill.api.services import Services
from gristmill.domain.front.publication import Once
from gristmill.domain.front.trace import TRACE_CHARS, TRACE_HEADER, read_trace_id
from gristmill.domain.input_key import TENANT_DEFAULT
from gristmill.intake.publish import NATIVE, Door
from gristmill.plans.names import advise_known

__all__ = ["IDEMPOTENCY_KEY", "find_door", "read_once"]

KEY_BYTES_MAX = 128
KEPT_MS = 24 * 3_600 * 1_000
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "makes a repeated call happen once: same key and body, same answer, for 24 hours; up to 128 bytes",
    KEY_BYTES_MAX,
)


def find_door(services: Services, call: Call, *, source: str, tenant: str) -> Door:
    """Return where content of a source goes in: a generator's topic, or our own with the Source that maps it.

    Its records carry the trace of the call, if it has one.

    Raises:
        ProblemRaised: `not-found`: no such source; `forbidden`: the token is for another tenant.
    """
    door = _find_door(services, call, source=source, tenant=tenant)
    trace = call.headers.get(TRACE_HEADER, "")[:TRACE_CHARS]
    return msgspec.structs.replace(door, trace=trace) if read_trace_id(call.headers) else door


def read_once(services: Services, call: Call, body: bytes) -> Once | None:
    """Return what the header `Idempotency-Key` asks for, None where there is none.

    Raises:
        ProblemRaised: `validation`: the key is empty, too long or not printable.
    """
    key = call.headers.get("idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= KEY_BYTES_MAX or not key.isascii() or not key.isprintable():
        fault = Fault("Idempotency-Key", f"is not 1 to {KEY_BYTES_MAX} printable ASCII characters")
        raise problem("validation", errors=[fault])
    asked = "\x00".join([call.path, *(f"{name}={value}" for name, value in sorted(call.query.items()))])
    fingerprint = hashlib.sha256(asked.encode() + b"\x00" + body).hexdigest()
    return Once(f"{call.principal.token_id}:{key}", fingerprint, services.clock.now_ms() + KEPT_MS)


def _find_door(services: Services, call: Call, *, source: str, tenant: str) -> Door:
    principal = call.principal
    if not tenant:
        tenant = principal.own_tenant
    if not principal.sees(tenant):
        raise problem("forbidden", f"tenant {tenant!r}")
    if source in ("", NATIVE):
        if services.native is None:
            raise problem("not-found", "no plan takes published items; set api.plans")
        return Door(services.native, tenant)
    mapper = services.sources.find(source)
    if mapper is not None and not principal.sees(mapper.definition.tenant):
        mapper = None
    for generator in services.generators.values():
        if source in (generator.type, generator.topic, generator.source) and principal.sees(TENANT_DEFAULT):
            return Door(generator)
    if mapper is None or services.native is None:
        raise problem("not-found", f"source {source!r} ({advise_known(source, services.generators)})")
    return Door(services.native, mapper.definition.tenant, source)
