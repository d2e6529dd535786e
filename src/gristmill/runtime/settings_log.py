"""Settings of where records wait; see `settings`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = ["LogSection", "TopicRetention"]


class TopicRetention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of `[log.topics]`: `[log.topics."feed.served"]` with these keys.

    Attributes:
        retention: `lossy` lets records go that nobody has read; they are counted.
        max_entries: of a lossy topic, about so many are kept.
        max_age_s: of a lossy topic, older ones go.
    """

    retention: Literal["until_consumed", "lossy"] = "until_consumed"
    max_entries: Annotated[int, Meta(ge=1)] | None = None
    max_age_s: Annotated[float, Meta(gt=0)] | None = None


class LogSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The log of `gristmill up`; `gristmill run` always uses the embedded one."""

    backend: Annotated[
        Literal["sqlite", "redis", "kafka"],
        Meta(description="sqlite keeps records beside the state, redis on a server, kafka on brokers"),
    ] = "sqlite"
    url: Annotated[
        str, Meta(description="redis://[user@]host:port[/db], rediss:// with TLS, or unix:///path; no password in it")
    ] = "redis://127.0.0.1:6379"
    password: Annotated[
        str, Meta(description="of the server; better GRISTMILL_LOG__PASSWORD, or its file GRISTMILL_LOG__PASSWORD_FILE")
    ] = ""
    ca_file: Annotated[str, Meta(description="certificates to trust with rediss://; empty means the system's")] = ""
    prefix: Annotated[str, Meta(description="how every key begins; installations that share a server differ in it")] = (
        "gristmill:"
    )
    ephemeral: Annotated[
        bool, Meta(description="of redis: take a server without an append-only file, which forgets at its restart")
    ] = False
    brokers: Annotated[str, Meta(description="of kafka: host:port, several with commas between them")] = (
        "127.0.0.1:9092"
    )
    topic_prefix: Annotated[
        str,
        Meta(description="of kafka: how every topic and group begins; installations that share brokers differ in it"),
    ] = "gristmill."
    foreign: Annotated[
        tuple[str, ...],
        Meta(description="TOPIC that somebody else writes, read as it is; of redis also TOPIC=FIELD"),
    ] = ()
    partitions: Annotated[
        int,
        Meta(
            description="of kafka: partitions of topics that are made; one dispatcher takes one or more", ge=1, le=1024
        ),
    ] = 4
    replicas: Annotated[int, Meta(description="of kafka: copies of topics that are made; 3 on a cluster", ge=1)] = 1
    client: Annotated[
        tuple[str, ...],
        Meta(description="of kafka: NAME=VALUE for the client, such as security.protocol=sasl_ssl; no password in it"),
    ] = ()
    topics: Annotated[
        dict[str, TopicRetention],
        Meta(description="topic -> retention; a topic without an entry keeps its records until they are consumed"),
    ] = {}
