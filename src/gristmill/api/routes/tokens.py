"""Tokens: handed out, listed and revoked by administrators, within their own tenant."""

from __future__ import annotations

import msgspec

from gristmill.api.calls import Call, Operation, Reply, read_json, reply
from gristmill.api.calls.bodies import check_text
from gristmill.api.problems import problem
from gristmill.api.security import make_token
from gristmill.api.services import Services
from gristmill.api.shapes.tokens import NewTokenRequest, NewTokenView, TokensView, TokenView
from gristmill.domain.front.access import StoredToken
from gristmill.domain.front.times import write_time

__all__ = ["TOKEN_OPERATIONS"]


_decoder = msgspec.json.Decoder(NewTokenRequest)


async def _list_tokens(services: Services, call: Call) -> Reply:
    """List tokens."""
    found = [token for token in await services.front.tokens.all() if call.principal.sees(token.tenant)]
    return reply(TokensView([_view(token) for token in found]))


async def _create_token(services: Services, call: Call) -> Reply:
    """Hand out a token."""
    request = await read_json(call, _decoder)
    check_text("/name", request.name)
    tenant = request.tenant or call.principal.tenant
    if not call.principal.sees(tenant):
        raise problem("forbidden", f"tenant {tenant!r}")
    made = make_token(request.name, role=request.role, tenant=tenant, now_ms=services.clock.now_ms())
    await services.front.tokens.add(made.stored)
    return reply(NewTokenView(made.text, made.stored.token_id), status=201)


async def _revoke_token(services: Services, call: Call) -> Reply:
    """Make a token useless; every process notices within a second."""
    token_id = call.path_values["token_id"]
    token = await services.front.tokens.find(token_id)
    if token is None or not call.principal.sees(token.tenant):
        raise problem("not-found", "token")
    if not await services.front.tokens.revoke(token_id, at_ms=services.clock.now_ms()):
        raise problem("conflict", "the token is revoked already")
    revoked = await services.front.tokens.find(token_id)
    return reply(_view(revoked or token))


def _view(token: StoredToken) -> TokenView:
    return TokenView(
        token_id=token.token_id,
        name=token.name,
        role=token.role,
        tenant=token.tenant,
        created_at=write_time(token.created_at_ms),
        revoked_at=None if token.revoked_at_ms is None else write_time(token.revoked_at_ms),
    )


TOKEN_OPERATIONS = (
    Operation(
        operation_id="listTokens",
        method="GET",
        path="/v1/tokens",
        summary="List tokens",
        access="admin",
        handle=_list_tokens,
        answer=TokensView,
    ),
    Operation(
        operation_id="createToken",
        method="POST",
        path="/v1/tokens",
        summary="Hand out a token",
        access="admin",
        handle=_create_token,
        body=NewTokenRequest,
        answer=NewTokenView,
        status=201,
        example={"name": "comment service", "role": "operator"},
    ),
    Operation(
        operation_id="revokeToken",
        method="POST",
        path="/v1/tokens/{token_id}/revoke",
        summary="Make a token useless",
        access="admin",
        handle=_revoke_token,
        answer=TokenView,
        problems=("not-found", "conflict"),
    ),
)
