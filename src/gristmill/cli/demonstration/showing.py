"""Serves the console over the state folder of a demo until Ctrl-C, with a login for one sitting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from gristmill.adapters.clock import SystemClock
from gristmill.api.security.secrets import make_token
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import folder_of
from gristmill.domain.errors import ConfigError
from gristmill.plans.plan import Generator
from gristmill.ports.front import Tokens
from gristmill.runtime.batch.manifest import read_manifests
from gristmill.runtime.folder import GroupLock, StateFolder
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.lookup import open_for_reading
from gristmill.runtime.settings_sources import LoadedSettings
from gristmill.runtime.telemetry import configure_logging

__all__ = ["CONSOLE", "is_turned_off", "serve_console", "with_free_port"]

TOKEN_NAME = "gristmill demo"
CONSOLE = "/console"
LOGIN = "/console/login#token="
"""What stands behind `#` stays in the browser: no server and no log gets to see it."""

T = TypeVar("T")


def is_turned_off(loaded: LoadedSettings) -> bool:
    """Whether settings say that there is no console."""
    return not (loaded.settings.api.enabled and loaded.settings.console.enabled)


def serve_console(loaded: LoadedSettings, *, flow_file: Path) -> None:
    """Serve until a signal asks to stop; what the demo has put in can be requeued meanwhile.

    Raises:
        UsageError: somebody else works in the state folder by now.
        ConfigError: an address that somebody has chosen cannot be listened on.
    """
    folder = folder_of(loaded.settings)
    loaded = loaded.with_default("grpc.enabled", "off", origin="default of this command")
    loaded = loaded.with_default("main.log_file", str(folder.log_file), origin="default of this command")
    wanted = loaded.settings.api.port
    loaded = with_free_port(loaded)
    is_moved = loaded.settings.api.port != wanted
    token = _with_tokens(folder, loaded, _make_token)
    lock = GroupLock(folder, purpose="gristmill demo")
    try:
        from gristmill.runtime.group.serving import serve_topics

        section = loaded.settings.main
        configure_logging("main", level=section.log_level, file=Path(section.log_file))
        newest = read_manifests(folder.inputs_dir)[0]
        posts = Generator(type=newest.topic, topic=newest.topic, plans=newest.plans, source=newest.source)
        serve_topics(
            loaded,
            flow_files=(str(flow_file),),
            further=(posts,),
            greet=lambda url, _: _welcome(url, token, taken=wanted if is_moved else None),
        )
    finally:
        lock.close()
        _with_tokens(folder, loaded, _revoke_tokens)


def with_free_port(loaded: LoadedSettings) -> LoadedSettings:
    """Return settings with any free port where the usual one is taken; one that somebody has chosen stays."""
    from gristmill.runtime.faces.web import bind

    section = loaded.settings.api
    try:
        bind("api", section.host, section.port).close()
    except ConfigError:
        return loaded.with_default("api.port", 0, origin=f"port {section.port} is in use")
    return loaded


def _welcome(url: str, token: str, *, taken: int | None) -> None:
    console = plain_console()
    console.print("\nLook at it in the console:")
    if taken is not None:
        console.print(f"  (port {taken} is in use, so it is served on another)")
    console.print(f"  {url}{CONSOLE}")
    console.print("\nLog in with one click:")
    console.print(f"  {url}{LOGIN}{token}")
    console.print("or with this token, which is good until you end the demo:")
    console.print(f"  {token}")
    console.print("\nCtrl-C ends it; what is stored stays.")


async def _make_token(tokens: Tokens) -> str:
    """Return a new token; those of demos that were killed end now."""
    await _revoke_tokens(tokens)
    made = make_token(TOKEN_NAME, role="operator", tenant="main", now_ms=SystemClock().now_ms())
    await tokens.add(made.stored)
    return made.text


async def _revoke_tokens(tokens: Tokens) -> None:
    for token in await tokens.all():
        if token.name == TOKEN_NAME and token.revoked_at_ms is None:
            await tokens.revoke(token.token_id, at_ms=SystemClock().now_ms())


def _with_tokens(folder: StateFolder, loaded: LoadedSettings, act: Callable[[Tokens], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_for_reading(folder, loaded.settings) as store:
            return await act(store.front.tokens)

    return run_async(run())
