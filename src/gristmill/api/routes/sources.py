"""Sources: what maps foreign records, listed and published without a restart."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import Fault, problem
from gristmill.api.services import Services
from gristmill.api.views.times import write_time
from gristmill.domain.errors import ConfigError, GristmillError
from gristmill.intake.sources.catalogue import KIND, publish_source
from gristmill.intake.sources.mapper import SourceMapper, compile_source
from gristmill.intake.sources.reader import read_source
from gristmill.ports.definitions import DEFINITION_BYTES_MAX

__all__ = ["SOURCE_OPERATIONS"]

FILE_NAME = "definition"


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """The latest revision of a Source."""

    name: str
    tenant: str
    revision: int
    hash: str
    published_at: str
    actor: str
    definition: str


class SourcesView(msgspec.Struct, frozen=True):
    """All Sources by tenant and name."""

    sources: list[SourceView]


class PublishSourceRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Source file, and which revision it follows (0: there must be none yet)."""

    definition: Annotated[str, Meta(min_length=1, max_length=DEFINITION_BYTES_MAX, description="the file, as YAML")]
    expected_revision: Annotated[int, Meta(ge=0)] | None = None


class PublishedSourceView(msgspec.Struct, frozen=True):
    """Published; running groups map by it within seconds."""

    name: str
    tenant: str
    revision: int
    hash: str


_decoder = msgspec.json.Decoder(PublishSourceRequest)


async def list_sources(services: Services, call: Call) -> Reply:
    """List published Sources."""
    latest = await services.definitions.latest(KIND)
    views = [
        SourceView(
            name=one.name,
            tenant=one.tenant,
            revision=one.revision,
            hash=one.hash,
            published_at=write_time(one.at_ms),
            actor=one.actor,
            definition=one.body,
        )
        for one in latest
        if call.principal.sees(one.tenant)
    ]
    return reply(SourcesView(views))


async def publish(services: Services, call: Call) -> Reply:
    """Publish a Source, or say what is wrong with it."""
    request = await read_json(call, _decoder)
    mapper = _compile(request.definition)
    definition = mapper.definition
    if not call.principal.sees(definition.tenant):
        raise problem("forbidden", f"tenant {definition.tenant!r}")
    published = await publish_source(
        services.definitions,
        mapper,
        actor=call.principal.name,
        clock=services.clock,
        expected=request.expected_revision,
    )
    await services.sources.refresh()
    return reply(PublishedSourceView(definition.name, definition.tenant, published.revision, definition.hash))


def _compile(text: str) -> SourceMapper:
    try:
        return compile_source(read_source(text, file=FILE_NAME), file=FILE_NAME)
    except (ConfigError, GristmillError) as error:
        raise problem("validation", "definition", errors=[Fault("/definition", str(error))]) from error


EXAMPLE = """\
source: reviews
type: post/1
identity: {biz_id: "$.review.id"}
map:
  - {to: text, path: "$.review.body", required: true}
"""

SOURCE_OPERATIONS = (
    Operation(
        operation_id="listSources",
        method="GET",
        path="/v1/sources",
        summary="List published Sources",
        access="viewer",
        handle=list_sources,
        answer=SourcesView,
    ),
    Operation(
        operation_id="publishSource",
        method="POST",
        path="/v1/sources",
        summary="Publish a Source",
        access="operator",
        handle=publish,
        body=PublishSourceRequest,
        answer=PublishedSourceView,
        problems=("validation", "conflict", "too-large", "unsupported-media-type"),
        example={"definition": EXAMPLE},
    ),
)
