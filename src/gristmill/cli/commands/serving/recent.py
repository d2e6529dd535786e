"""`gristmill recent`: feed and serve the newest items of authors, and ask a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import App, Parameter

from gristmill.adapters.clock import SystemClock
from gristmill.cli.app import EXIT_OK
from gristmill.cli.asking import ask_json
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import ConfigError, UsageError
from gristmill.runtime.loop import run_async
from gristmill.runtime.settings_sources import LoadedSettings
from gristmill.runtime.spec import GroupSpec
from gristmill.runtime.telemetry import configure_logging

__all__ = ["app", "run_role"]

app = App(name="recent")

EXIT_BROKEN = 70
"""A part of the process has ended: whoever watches over it starts it again."""

TOKEN_VARIABLE = "GRISTMILL_TOKEN"

Url = Annotated[str | None, Parameter(help="Server. [default: the one of the state folder]", show_default=False)]


@app.command(name="feed")
def _feed(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Turn raw content events into packed frames, until a signal asks to stop.

    Several feeders share the work. Exit code 0: stopped as asked. 2: it could not start. 70: it cannot go on.
    """
    from gristmill.runtime.recent.roles import feed

    return run_role("recent-feed", load(state=state, config=config), feed)


@app.command(name="serve")
def _serve(*, state: StateDir = None, config: ConfigFile = None) -> int:
    """Hold the recent items of all authors in memory and answer over HTTP, until a signal asks to stop.

    Each server holds everything; more servers answer more queries. Exit code 0: stopped as asked. 2: it could not
    start. 70: it cannot go on.
    """
    from gristmill.runtime.recent.roles import serve

    return run_role("recent-serve", load(state=state, config=config), serve)


@app.command(name="query")
def _query(
    *,
    authors: Annotated[Path, Parameter(help="File of author ids, one a line; - for standard input.")],
    n: Annotated[int, Parameter(help="Items at most; 0 for the usual number.")] = 0,
    mode: Annotated[Literal["timeline", "video"], Parameter(help="All items, or videos.")] = "timeline",
    requester: Annotated[int, Parameter(help="Who reads: reposts of own items are left out.")] = 0,
    url: Url = None,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Ask a server for the newest items of authors: one JSON line each, newest first.

    The environment holds the token: GRISTMILL_TOKEN.
    """
    body = {"authors": _read_authors(authors), "max_results": n, "mode": mode, "requester": requester}
    answer = _ask(url, state, config, "/v1/recent/latest", body)
    for item in answer["items"]:
        print(msgspec.json.encode(item).decode())
    for name in ("partial", "stale", "truncated"):
        if answer[name]:
            print(f"gristmill: the answer is {name}", file=sys.stderr)
    return EXIT_OK


@app.command(name="stats")
def _stats(*, url: Url = None, state: StateDir = None, config: ConfigFile = None) -> int:
    """Show how a server is: its state, what it holds, what became of the events, and records that it could not use.

    The environment holds the token: GRISTMILL_TOKEN.
    """
    answer = _ask(url, state, config, "/v1/recent/stats", None)
    print(msgspec.json.format(msgspec.json.encode(answer)).decode())
    return EXIT_OK


def run_role(name: str, loaded: LoadedSettings, role: Callable[..., Coroutine[Any, Any, None]]) -> int:
    """Run a role in a state folder until a signal asks it to stop, and return the exit code."""
    from gristmill.runtime.group.lifecycle import StopSignals

    section = loaded.settings.main
    folder = folder_of(loaded.settings)
    folder.prepare()
    configure_logging(name, level=section.log_level, file=Path(section.log_file) if section.log_file else None)

    async def live() -> None:
        signals = StopSignals()
        signals.install()
        spec = GroupSpec(state_dir=section.state_dir, settings=loaded.settings)
        await role(spec, SystemClock(), signals)

    try:
        run_async(live())
    except (ConfigError, UsageError):
        raise
    except Exception as error:
        print(f"gristmill: {name} cannot go on: {error}", file=sys.stderr)
        return EXIT_BROKEN
    return EXIT_OK


def _ask(url: str | None, state: Path | None, config: Path | None, path: str, body: Any) -> Any:
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise UsageError(TOKEN_VARIABLE, advice="set it to a token: `gristmill token create NAME --role viewer`")
    return ask_json((url or _find_url(state, config)) + path, token=token, body=body)


def _find_url(state: Path | None, config: Path | None) -> str:
    from gristmill.runtime.recent.addresses import SERVE_ADDRESS

    folder = folder_of(load(state=state, config=config).settings)
    try:
        return (folder.run_dir / SERVE_ADDRESS).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        advice = "start one with `gristmill recent serve`, or name another with --url"
        raise UsageError("no server of recent items runs on", value=str(folder.path), advice=advice) from None


def _read_authors(file: Path) -> list[str]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError("file of authors", value=str(file), advice="it does not exist") from None
    authors = text.split()
    for author in authors:
        if not (author.isascii() and author.isdecimal()):
            raise UsageError("author id", value=author, advice="one whole number a line")
    return authors
