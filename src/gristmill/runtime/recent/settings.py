"""Settings of the store of recent items; see `runtime.settings`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["RecentSection"]

Positive = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=65_535)]


class RecentSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest items of authors: `gristmill recent feed` and `gristmill recent serve`."""

    raw_topic: Annotated[str, Meta(min_length=1, description="where content events come in, as JSON")] = (
        "content.events"
    )
    topic: Annotated[str, Meta(min_length=1, description="where they go on as packed frames")] = "recent.items"
    group: Annotated[str, Meta(min_length=1, description="which feeders share the work")] = "gristmill-recent"
    paths: Annotated[
        dict[str, str], Meta(description="where values stand in a raw event, by name: item = post.id; see the guide")
    ] = {}
    retention_s: Annotated[Positive, Meta(description="items and deletions are kept so long")] = 172_800
    skew_s: Annotated[int, Meta(ge=0, description="items from so far in the future are taken as new")] = 60
    video_ms_min: Annotated[int, Meta(ge=0, description="a shorter video is none")] = 5_000
    max_items: Annotated[
        int, Meta(ge=1, le=2**30, description="items held; beyond it the first to arrive go. About 100 bytes each")
    ] = 4_194_304
    cap_per_author_queue: Annotated[Positive, Meta(description="items kept of one author and queue")] = 5_000
    originals_per_author: Annotated[Positive, Meta(description="in an answer")] = 50
    secondary_per_author: Annotated[Positive, Meta(description="replies and reposts in an answer")] = 30
    video_per_author: Annotated[Positive, Meta(description="in an answer of videos")] = 100
    scan_limit: Annotated[Positive, Meta(description="entries of one queue that a query looks at")] = 500
    max_results: Annotated[Positive, Meta(description="items of an answer where the query does not say")] = 1_200
    max_results_video: Annotated[Positive, Meta(description="the same of videos")] = 600
    max_list: Annotated[Positive, Meta(description="authors, and exclusions, that a query may name")] = 10_000
    never_serve_authors: Annotated[tuple[int, ...], Meta(description="authors that no query finds")] = ()
    max_staleness_s: Annotated[
        Positive, Meta(description="answers are marked stale when newer items have waited so long")
    ] = 60
    stale_is_unready: Annotated[bool, Meta(description="whether /readyz fails while answers are stale")] = False
    request_timeout_ms: Annotated[int, Meta(ge=0, description="then an answer is partial; 0: never")] = 200
    qps_limit: Annotated[Positive, Meta(description="queries a second; what is beyond is refused at once")] = 8_000
    host: Annotated[str, Meta(min_length=1, description="address to listen on; the default is this machine alone")] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Meta(description="of a server; 0 takes any that is free")] = 8090
    feed_port: Annotated[Port, Meta(description="of the probes of a feeder; 0 takes any that is free")] = 8091
