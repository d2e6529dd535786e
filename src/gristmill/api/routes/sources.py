"""Sources: what maps foreign records, listed and published without a restart."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.problems import Fault, problem
from gristmill.api.services import Services
from gristmill.api.shapes.sources import PublishedSourceView, PublishSourceRequest, SourcesView, SourceView
from gristmill.domain.errors import ConfigError, GristmillError
from gristmill.domain.front.times import write_time
from gristmill.intake.sources.catalogue import KIND, publish_source
from gristmill.intake.sources.mapper import SourceMapper, compile_source
from gristmill.intake.sources.reader import read_source

__all__ = ["SOURCE_OPERATIONS"]

FILE_NAME = "definition"


_decoder = msgspec.json.Decoder(PublishSourceRequest)


async def _list_sources(services: Services, call: Call) -> Reply:
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


async def _publish(services: Services, call: Call) -> Reply:
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
        handle=_list_sources,
        answer=SourcesView,
    ),
    Operation(
        operation_id="publishSource",
        method="POST",
        path="/v1/sources",
        summary="Publish a Source",
        access="operator",
        handle=_publish,
        body=PublishSourceRequest,
        answer=PublishedSourceView,
        problems=("conflict",),
        example={"definition": EXAMPLE},
    ),
)
