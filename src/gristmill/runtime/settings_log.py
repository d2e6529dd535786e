"""Settings of where records wait; see `settings`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

__all__ = ["LogSection"]


class LogSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The log of `gristmill up`; `gristmill run` always uses the embedded one."""

    backend: Annotated[
        Literal["sqlite", "redis"], Meta(description="sqlite keeps records beside the state, redis on a server")
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
    lossy: Annotated[
        tuple[str, ...],
        Meta(description="TOPIC=RECORDS: keep about so many of a topic, read or not; all others wait until consumed"),
    ] = ()
