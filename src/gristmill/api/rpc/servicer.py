"""What a flow registers to be called over gRPC. A flow needs no import of it: having these members is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Servicer", "ServicerSource"]


class Servicer(Protocol):
    """Methods of one or more gRPC services.

    Attributes:
        service_names: full names (`acme.Verdicts`), for reflection.
    """

    service_names: Sequence[str]

    def add_to(self, server: Any) -> None:
        """Add its methods to a `grpc.aio.Server` that is not started yet."""
        ...


class ServicerSource(Protocol):
    """An entry of `Flow(services=[...])`."""

    def build(self) -> Servicer:
        """Return the servicer; called once, in the main process."""
        ...
