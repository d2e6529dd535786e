"""The store of recent items in the plainest way: lists, dicts, every rule as one sentence, no thought of speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gristmill.recent import Event, EventKind, Flag, ItemKind, LatestRequest, StoreLimits

HELD_FLAGS = Flag.REPLY | Flag.REPOST


@dataclass
class Held:
    """One item that is held."""

    event: Event
    labels: int = 0
    hidden: bool = False
    has_video_source: bool = False

    @property
    def key(self) -> tuple[int, int]:
        return self.event.at_ms, self.event.item

    @property
    def is_reply(self) -> bool:
        return bool(self.event.flags & Flag.REPLY or self.event.answered_item or self.event.answered_author)

    @property
    def is_repost(self) -> bool:
        return bool(self.event.flags & Flag.REPOST)

    @property
    def is_original(self) -> bool:
        return not self.is_reply and not self.is_repost

    @property
    def is_own_video(self) -> bool:
        return bool(self.event.flags & Flag.VIDEO) and not self.is_reply

    @property
    def kinds(self) -> int:
        if self.is_original:
            return ItemKind.ORIGINAL
        return self.is_reply * ItemKind.REPLY | self.is_repost * ItemKind.REPOST


@dataclass
class Oracle:
    """What the store must answer."""

    limits: StoreLimits
    now_ms: int
    items: dict[int, Held] = field(default_factory=dict)
    deleted: dict[int, int] = field(default_factory=dict)

    def apply(self, events: Sequence[Event]) -> None:
        for kind in (EventKind.CREATE, EventKind.DELETE, EventKind.HIDE):
            for event in events:
                if min(event.kind, EventKind.HIDE) == kind:
                    self._apply(event)

    def _apply(self, event: Event) -> None:
        held = self.items.get(event.item)
        match event.kind:
            case EventKind.CREATE:
                self._create(event)
            case EventKind.DELETE:
                self.items.pop(event.item, None)
                until_ms = min(event.at_ms, self.now_ms) + self.limits.retention_ms
                self.deleted[event.item] = max(until_ms, self.deleted.get(event.item, 0))
            case EventKind.HIDE | EventKind.RESTORE if held:
                held.hidden = event.kind == EventKind.HIDE
            case EventKind.LABEL if held:
                held.labels = (held.labels | event.set) & ~event.clear

    def _create(self, event: Event) -> None:
        age_ms = self.now_ms - event.at_ms
        is_dead = self.deleted.get(event.item, -1) >= self.now_ms
        if age_ms > self.limits.retention_ms or age_ms < -self.limits.skew_ms or is_dead or event.item in self.items:
            return
        held = Held(
            Event(
                **{name: getattr(event, name) for name in event.__struct_fields__}
                | {"at_ms": min(event.at_ms, self.now_ms)}
            )
        )
        self.items[event.item] = held
        for other in self.items.values():
            if other.is_repost and not other.is_reply:
                source = self.items.get(other.event.source_item)
                other.has_video_source |= source is not None and source.is_own_video

    def latest(self, request: LatestRequest) -> list[int]:
        authors = {int(author) for author in request.authors[: self.limits.list_max]}
        excluded = {int(item) for item in request.exclude[: self.limits.list_max]}
        found: list[Held] = []
        for author in authors:
            for queue, limit in self._queues(request):
                found += self._of_queue(queue, author, limit=limit, request=request, excluded=excluded, authors=authors)
        found.sort(key=lambda held: held.key, reverse=True)
        usual = self.limits.video_results if request.mode == "video" else self.limits.results
        wanted = min(request.results or usual, self.limits.results_max)
        return [held.event.item for held in found[:wanted]]

    def _queues(self, request: LatestRequest) -> list[tuple[str, int]]:
        def lower(asked: int | None, limit: int) -> int:
            return limit if asked is None else min(asked, limit)

        if request.mode == "video":
            return [("videos", lower(request.videos, self.limits.videos))]
        return [
            ("originals", lower(request.originals, self.limits.originals)),
            ("secondary", lower(request.secondary, self.limits.secondary)),
        ]

    def _of_queue(
        self, queue: str, author: int, *, limit: int, request: LatestRequest, excluded: set[int], authors: set[int]
    ) -> list[Held]:
        members = [held for held in self.items.values() if held.event.author == author and self._is_in(held, queue)]
        looked_at = [
            held
            for held in sorted(members, key=lambda held: held.key, reverse=True)
            if held.event.item not in excluded
            and (request.include_hidden or not held.hidden)
            and (request.before is None or held.key < (request.before.at_ms, request.before.item))
            and (request.since is None or held.key > (request.since.at_ms, request.since.item))
            and self._is_fresh(held)
        ]
        passing = [held for held in looked_at[: self.limits.scan] if self._passes(held, request, authors)]
        return passing[:limit]

    def _is_in(self, held: Held, queue: str) -> bool:
        if queue == "videos":
            return held.is_own_video or held.has_video_source
        return held.is_original == (queue == "originals")

    def _is_fresh(self, held: Held) -> bool:
        return held.event.at_ms >= self.now_ms - self.limits.retention_ms

    def _passes(self, held: Held, request: LatestRequest, authors: set[int]) -> bool:
        event = held.event
        if not held.kinds & request.kinds:
            return False
        if request.tags_any and not held.labels & request.tags_any:
            return False
        if held.labels & request.tags_none:
            return False
        if held.is_repost and request.requester and event.source_author == request.requester:
            return False
        if request.mode == "video":
            return held.is_own_video or not self.deleted.get(event.source_item, -1) >= self.now_ms
        return not event.answered_item or self._is_answer_wanted(event, authors)

    def _is_answer_wanted(self, event: Event, authors: set[int]) -> bool:
        parent = self.items.get(event.answered_item)
        if parent is None or not self._is_fresh(parent):
            return False
        root = event.conversation
        is_second = root != 0 and parent.event.answered_item == root and event.answered_author in authors
        return parent.is_original or is_second
