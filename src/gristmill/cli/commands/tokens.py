"""`gristmill token`: who may call the API, in which role and for which tenant."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

from cyclopts import App, Parameter
from rich.table import Table

from gristmill.adapters.clock import SystemClock
from gristmill.api.security.secrets import make_token
from gristmill.cli.app import EXIT_OK
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.front.access import EVERY_TENANT, Role
from gristmill.domain.front.times import write_second
from gristmill.ports.front import Tokens
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading

__all__ = ["app"]

app = App(name="token")

T = TypeVar("T")


@app.command(name="create")
def _create(
    name: Annotated[str, Parameter(help="Who will use it, for people.")],
    /,
    *,
    role: Annotated[Role, Parameter(help="viewer looks, reviewer judges, operator publishes and steers, admin all.")],
    tenant: Annotated[str, Parameter(help="Whose content it sees; `*` stands for everybody's.")] = "main",
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Create a token and show it, this once."""
    if not tenant.strip() or (EVERY_TENANT in tenant and tenant != EVERY_TENANT):
        raise UsageError("tenant", value=tenant, advice="give a name, or * for every tenant")
    made = make_token(name, role=role, tenant=tenant, now_ms=SystemClock().now_ms())
    _with_tokens(state, config, lambda tokens: tokens.add(made.stored))
    print(made.text)
    return EXIT_OK


@app.command(name="ls")
def _list(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """List tokens, revoked ones too. Their secrets are stored nowhere."""
    found = _with_tokens(state, config, lambda tokens: tokens.all())
    table = Table("id", "name", "role", "tenant", "created", "revoked", box=None, padding=(0, 2))
    for token in found:
        revoked = "" if token.revoked_at_ms is None else write_second(token.revoked_at_ms)
        created = write_second(token.created_at_ms)
        table.add_row(token.token_id, token.name, token.role, token.tenant, created, revoked)
    plain_console().print(table if found else "no tokens")
    return EXIT_OK


@app.command(name="revoke")
def _revoke(
    token_id: Annotated[str, Parameter(help="As `token ls` lists it.")],
    /,
    *,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Make a token useless; a running group notices within a second."""
    at_ms = SystemClock().now_ms()
    if not _with_tokens(state, config, lambda tokens: tokens.revoke(token_id, at_ms=at_ms)):
        raise UsageError("token", value=token_id, advice="there is no good one with this id; see `gristmill token ls`")
    print(f"revoked: {token_id}")
    return EXIT_OK


def _with_tokens(state: Path | None, config: Path | None, act: Callable[[Tokens], Awaitable[T]]) -> T:
    settings = load(state=state, config=config).settings

    async def run() -> T:
        async with open_for_reading(folder_of(settings), settings) as store:
            return await act(store.front.tokens)

    return run_async(run())
