"""What can be set, with its default, its unit and what it is for. One schema for file, environment and flags.

Values come from, strongest first: flags, environment (`GRISTMILL_<SECTION>__<KEY>`), `gristmill.toml`, defaults of the
command, the defaults below. How they are merged and explained is in `settings_sources`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gristmill.runtime.recent.settings import RecentSection
from gristmill.runtime.settings_faces import (
    ApiSection,
    ConsoleSection,
    CredentialsSection,
    DeliverySection,
    GrpcSection,
)
from gristmill.runtime.settings_log import LogSection

__all__ = [
    "DispatcherSection",
    "EngineSection",
    "FlowsSection",
    "MainSection",
    "MediaSection",
    "RetentionSection",
    "ScreenSection",
    "Settings",
    "SourcesSection",
    "StoreSection",
]

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Days = Annotated[float, Meta(ge=0)]


class MainSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The process group as a whole."""

    state_dir: Annotated[str, Meta(min_length=1, description="folder that holds all state of this installation")] = (
        ".gristmill"
    )
    environment: Annotated[Literal["dev", "prod"], Meta(description="what disable rules and effects look at")] = "dev"
    process_model: Annotated[
        Literal["split", "single"], Meta(description="dispatcher and engines as processes, or all in one")
    ] = "split"
    start_timeout_s: Annotated[Seconds, Meta(description="until every process must have started")] = 60
    stall_timeout_s: Annotated[
        Seconds, Meta(description="a process that has not answered for so long is killed and started again; 0: never")
    ] = 60
    shutdown_drain_timeout_s: Annotated[Seconds, Meta(description="records under way may finish after SIGTERM")] = 300
    children_nice: Annotated[
        int,
        Meta(ge=0, le=19, description="how far dispatcher and engines stand back behind main, which people wait for"),
    ] = 5
    gc_interval_s: Annotated[Seconds, Meta(description="between two full garbage collections of a process")] = 28_800
    gc_jitter_s: Annotated[Seconds, Meta(description="drawn once and added to the interval")] = 900
    log_level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="least level logged")] = "info"
    log_file: Annotated[str, Meta(description="JSON lines go here; empty means standard error")] = ""


class DispatcherSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Claims records and hands them to engines."""

    max_in_flight: Annotated[Positive, Meta(description="records under way at once, over all engines")] = 3
    lease_ms: Annotated[int, Meta(ge=300, description="ownership of a record, renewed every third of it")] = 30_000
    monitor_interval_s: Annotated[Seconds, Meta(description="between two looks for lost records")] = 15
    deliveries_max: Annotated[Positive, Meta(description="deliveries that count, deaths of engines included")] = 3
    recovery_delay_s: Annotated[Seconds, Meta(description="before a failed record comes again the first time")] = 30
    recovery_factor: Annotated[Positive, Meta(description="each further delay is this many times longer")] = 4
    recoveries_max: Annotated[int, Meta(ge=0, description="after which a failing record becomes a dead letter")] = 3
    grace_s: Annotated[Seconds, Meta(description="to stop after the drain; then the process is killed")] = 120


class EngineSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drives runs and commits them."""

    count: Annotated[Positive, Meta(le=64, description="engine processes")] = 1
    capacity: Annotated[Positive, Meta(description="records one engine takes at once, waiting ones included")] = 512
    max_concurrency: Annotated[Positive, Meta(description="records with asynchronous plans worked on at once")] = 64
    task_timeout_s: Annotated[float, Meta(gt=0, description="longest time of one run")] = 900
    grace_s: Annotated[Seconds, Meta(description="to stop after the drain; then the process is killed")] = 120


class RetentionSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the store lets go of, and when; 0 days keep it for good. See `gristmill retention`."""

    enabled: Annotated[bool, Meta(description="whether `gristmill up` lets go of anything by itself")] = True
    sweep_interval_s: Annotated[float, Meta(gt=0, description="from one sweep to the next")] = 30
    inputs_days: Annotated[Days, Meta(description="records that `gristmill run` has put in and worked off")] = 30
    letters_days: Annotated[Days, Meta(description="dead letters that were requeued or dropped")] = 30
    events_days: Annotated[Days, Meta(description="events, which then move to the archive, whole months at a time")] = (
        30
    )
    runs_days: Annotated[Days, Meta(description="runs of an item that a newer run of the same plan has replaced")] = 30
    quarantine_days: Annotated[Days, Meta(description="records that never became an item")] = 90
    abandoned_days: Annotated[
        Days, Meta(description="a group that stands still so long, and that nobody here serves, holds no records back")
    ] = 7
    items_days: Annotated[
        Days, Meta(description="items with all that belongs to them, but for those in groups or judged by people")
    ] = 0


class StoreSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The embedded store."""

    synchronous: Annotated[
        Literal["FULL", "NORMAL"], Meta(description="FULL survives power loss, NORMAL a process death")
    ] = "FULL"
    history_file: Annotated[str, Meta(description="file that every record's history is written to; for tests")] = ""
    retention: RetentionSection = RetentionSection()


class FlowsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which flows take part."""

    enabled: Annotated[tuple[str, ...], Meta(description="flow names; empty means every flow that is found")] = ()
    paths: Annotated[tuple[str, ...], Meta(description="further flows as Python files")] = ()


class SourcesSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How foreign records become items."""

    paths: Annotated[tuple[str, ...], Meta(description="Source files, or folders of them, published at start")] = ()


class ScreenSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shipped flow `screen`."""

    rules: Annotated[str, Meta(description="rule file instead of the shipped one")] = ""
    head: Annotated[str, Meta(description="trained head; empty means the active one of the state folder, if any")] = ""


class MediaSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pictures that items refer to."""

    enabled: Annotated[bool, Meta(description="whether the flow `screen` looks at pictures")] = True
    on_error: Annotated[
        Literal["fail", "degrade"],
        Meta(description="when a picture cannot be fetched: fail its item, or go on without"),
    ] = "fail"
    nsfw_score: Annotated[float, Meta(gt=0, le=1, description="least score of the nudity model for the label nsfw")] = (
        0.8
    )
    match_lists: Annotated[tuple[str, ...], Meta(description="files of known hashes, addresses and hosts")] = ()
    allow: Annotated[
        tuple[str, ...], Meta(description="inner hosts or networks that may be fetched from, HOST[:PORT] or NETWORK")
    ] = ()
    ports: Annotated[tuple[int, ...], Meta(description="ports that may be fetched from on any host")] = (80, 443)
    folder: Annotated[str, Meta(description="where file: references may point to; empty means nowhere")] = ""
    image_bytes_max: Annotated[Positive, Meta(description="of one picture as it is fetched")] = 20 * 1024 * 1024
    fetches: Annotated[Positive, Meta(description="pictures that one engine holds at once, fetched or decoded")] = 8
    decoders: Annotated[Positive, Meta(le=64, description="processes of one engine that decode pictures")] = 2


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set."""

    main: MainSection = MainSection()
    dispatcher: DispatcherSection = DispatcherSection()
    engine: EngineSection = EngineSection()
    store: StoreSection = StoreSection()
    log: LogSection = LogSection()
    flows: FlowsSection = FlowsSection()
    sources: SourcesSection = SourcesSection()
    screen: ScreenSection = ScreenSection()
    media: MediaSection = MediaSection()
    api: ApiSection = ApiSection()
    console: ConsoleSection = ConsoleSection()
    grpc: GrpcSection = GrpcSection()
    credentials: CredentialsSection = CredentialsSection()
    delivery: DeliverySection = DeliverySection()
    recent: RecentSection = RecentSection()
