"""Renews credentials: runs a command such as `kinit`, and keeps what it prints in a file where that is asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from gristmill.domain.errors import ConfigError, Unavailable

__all__ = ["CredentialRenewal"]

TIMEOUT_S = 60.0
TOLD_BYTES_MAX = 200
TOKEN_BYTES_MAX = 64 * 1024
OWNER_ONLY = 0o600


class CredentialRenewal:
    """One renewal is one run of a command; it fails with another exit code than 0.

    Args:
        command: program and arguments, run without a shell.
        key_file: what it needs to be there, such as a keytab.
        token_file: gets its standard output, whole or not at all, readable by its owner alone.

    Raises:
        ConfigError: no command, or the key file is missing.
    """

    def __init__(self, command: Sequence[str], *, key_file: str = "", token_file: str = "") -> None:
        if not command:
            raise ConfigError("credentials.command is empty", advice="give program and arguments")
        if key_file and not Path(key_file).is_file():
            raise ConfigError("credentials.key_file does not exist", value=key_file, advice="create it first")
        self._command = tuple(command)
        self._token_file = Path(token_file) if token_file else None

    async def run_once(self) -> None:
        """Renew.

        Raises:
            Unavailable: the command cannot be run, takes longer than a minute, or fails.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise Unavailable("credential command cannot be run", value=self._command[0], advice=str(error)) from error
        try:
            async with asyncio.timeout(TIMEOUT_S):
                printed, told = await process.communicate()
        except TimeoutError as error:
            raise Unavailable("credential command takes too long", value=self._command[0]) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            text = told[:TOLD_BYTES_MAX].decode("utf-8", "replace").strip()
            raise Unavailable(f"credential command ended with code {process.returncode}", advice=text)
        if self._token_file is not None:
            self._keep(self._token_file, printed)

    def _keep(self, path: Path, token: bytes) -> None:
        if not token.strip() or len(token) > TOKEN_BYTES_MAX:
            raise Unavailable("credential command printed no token", value=f"{len(token)} bytes")
        unfinished = path.with_name(f".{path.name}.part")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(descriptor, "wb") as file:
            file.write(token)
        unfinished.replace(path)
