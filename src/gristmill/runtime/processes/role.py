"""`python -m gristmill.runtime.processes.role ROLE CHANNEL MAIN`: what a child process does.

ROLE      dispatcher or engine
CHANNEL   file descriptor of its end of the channel
MAIN      process id of main, with which it dies
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

from gristmill.runtime.processes.launch import bind_to_main

__all__ = ["main"]

EXIT_REFUSED = 2
EXIT_LOST = 1


def main() -> int:
    """Be a child until main says stop or is gone."""
    role, descriptor, main_pid = sys.argv[1:]
    bind_to_main(role, int(main_pid))
    import uvloop

    return uvloop.run(_live(socket.socket(fileno=int(descriptor))))


async def _live(end: socket.socket) -> int:
    from gristmill.domain.errors import GristmillError
    from gristmill.runtime.processes.channel import Begin, Channel, Refused, Started
    from gristmill.runtime.telemetry import configure_logging

    channel = await Channel.open(end)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return EXIT_LOST
    section = begin.spec.settings.main
    configure_logging(begin.name, level=section.log_level, file=Path(section.log_file) if section.log_file else None)
    try:
        from gristmill.runtime.processes.stage import Stage

        stage = Stage(begin)
        await stage.member.start()
    except GristmillError as error:
        await channel.send(Refused(str(error)))
        return EXIT_REFUSED
    except Exception as error:
        await channel.send(Refused(f"{begin.name} cannot start: {type(error).__name__}: {error}"))
        raise
    await channel.send(Started())
    code = await stage.play(channel)
    if code is None:
        # Main is gone: whoever comes next frees what is leased here as soon as this process is dead.
        os._exit(EXIT_LOST)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except asyncio.CancelledError:
        sys.exit(EXIT_LOST)
