"""Settings of what the main process serves and does beside the group; see `settings`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = ["ApiSection", "ConsoleSection", "CredentialsSection", "DeliverySection", "GrpcSection"]


class ApiSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The HTTP interface of `gristmill up`."""

    enabled: Annotated[bool, Meta(description="whether HTTP is served, and published items are taken")] = True
    host: Annotated[str, Meta(min_length=1, description="address to listen on; the default is this machine alone")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535, description="0 takes any that is free")] = 8080
    plans: Annotated[tuple[str, ...], Meta(description="plan keys that published items go through")] = ("screen",)
    rate_per_s: Annotated[float, Meta(ge=0, description="requests of one token, 0 for any number")] = 0
    backlog_max: Annotated[
        int, Meta(ge=1, description="records that wait to be handed out before publishing is refused")
    ] = 1_000_000


class ConsoleSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The web console, beside the API on the same port."""

    enabled: Annotated[bool, Meta(description="whether the API serves pages for people too")] = True
    base_path: Annotated[
        str,
        Meta(pattern=r"^(/[A-Za-z0-9._~-]+)*$", description="what a proxy puts in front of every path and takes away"),
    ] = ""


class GrpcSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gRPC server of `gristmill up`: health, reflection, and services of flows."""

    enabled: Annotated[
        Literal["auto", "on", "off"], Meta(description="auto serves it where the extra `grpc` is installed")
    ] = "auto"
    host: Annotated[str, Meta(min_length=1, description="address to listen on; the default is this machine alone")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535, description="0 takes any that is free")] = 9988


class CredentialsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Credentials that a command renews, in the main process."""

    command: Annotated[tuple[str, ...], Meta(description="program and arguments; empty renews nothing")] = ()
    key_file: Annotated[str, Meta(description="what the command needs to be there, such as a keytab")] = ""
    token_file: Annotated[str, Meta(description="gets what the command prints, for its owner alone")] = ""
    interval_s: Annotated[float, Meta(description="from a renewal to the next")] = 3_600
    attempts: Annotated[int, Meta(description="of one renewal")] = 5
    retry_interval_s: Annotated[float, Meta(description="between two attempts")] = 60


class DeliverySection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Subscriptions that are delivered, in the main process."""

    enabled: Annotated[bool, Meta(description="whether `gristmill up` delivers; what changes meanwhile is kept")] = True
    allow: Annotated[
        tuple[str, ...], Meta(description="inner hosts or networks that webhooks may lead to, HOST[:PORT] or NETWORK")
    ] = ()
    ports: Annotated[tuple[int, ...], Meta(description="ports that webhooks may lead to on any host")] = (80, 443)
    timeout_s: Annotated[float, Meta(gt=0, le=60, description="until a receiver must have answered")] = 15
    retries_s: Annotated[
        tuple[Annotated[float, Meta(ge=0)], ...],
        Meta(min_length=1, description="pauses before the retries of a receiver that fails; then it is paused"),
    ] = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
