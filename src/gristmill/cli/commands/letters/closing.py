"""Dead letters requeued and dropped: some, all, or all of one cause after a look at how many they are."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from rich.progress import track

from gristmill.api.desk import Desk, close_letters
from gristmill.api.desk.causes import find_cause
from gristmill.api.problems import ProblemRaised
from gristmill.cli.app import EXIT_OK
from gristmill.cli.commands.letters.app import app, log_to, refusing, whoever_calls
from gristmill.cli.consoles import plain_console
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.domain.errors import UsageError
from gristmill.domain.log import DeadLetter
from gristmill.runtime.loop import run_async
from gristmill.runtime.reading.desk import open_desk
from gristmill.runtime.settings import Settings

__all__: list[str] = []

STEP = 100

Numbers = Annotated[tuple[int, ...], Parameter(help="As `dlq ls` lists them; none with --all or --cause.")]
Cause = Annotated[str, Parameter(help="All of a cause, as `dlq ls --causes` names it.", show_default=False)]
DryRun = Annotated[bool, Parameter(negative="", help="Only tell how many they are.")]


@app.command(name="requeue")
def _requeue_letters(
    numbers: Numbers = (),
    /,
    *,
    all: Annotated[bool, Parameter(negative="", help="Requeue every dead letter.")] = False,
    topic: Annotated[str, Parameter(help="With --all: of this topic alone.", show_default=False)] = "",
    cause: Cause = "",
    reason: Annotated[str, Parameter(help="Why; kept with your name.", show_default=False)] = "",
    dry_run: DryRun = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Make them records again, with a fresh budget of attempts. The next `run` or a running group takes them."""
    if bool(numbers) + all + bool(cause) != 1:
        raise UsageError("which dead letters", advice="name numbers of `gristmill dlq ls`, or give --all or --cause")
    settings = load(state=state, config=config).settings
    chosen = _Chosen(numbers, cause, topic, "requeue")
    return _close(settings, chosen, "requeued", reason=reason.strip(), is_dry=dry_run)


@app.command(name="drop")
def _drop_letters(
    numbers: Numbers = (),
    /,
    *,
    reason: Annotated[str, Parameter(help="Why nobody needs it any more; kept with your name.")],
    cause: Cause = "",
    dry_run: DryRun = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Close them for good: their records never come back."""
    if not reason.strip():
        raise UsageError("reason", value=reason, advice="say why: it is all that will be left")
    if bool(numbers) == bool(cause):
        raise UsageError("which dead letters", advice="name numbers of `gristmill dlq ls`, or give --cause")
    settings = load(state=state, config=config).settings
    return _close(settings, _Chosen(numbers, cause, "", "drop"), "dropped", reason=reason.strip(), is_dry=dry_run)


class _Chosen:
    """Which letters somebody means."""

    def __init__(self, numbers: tuple[int, ...], cause: str, topic: str, act: str) -> None:
        self._numbers = numbers
        self._cause = cause
        self._topic = topic
        self.act = act

    async def find(self, desk: Desk) -> list[DeadLetter]:
        """Return them as they are now: one that fails again meanwhile is not closed twice."""
        if self._cause:
            try:
                _, found = await find_cause(desk.log, whoever_calls(), self._cause)
            except ProblemRaised as error:
                raise UsageError("cause", value=self._cause, advice="see `gristmill dlq ls --causes`") from error
            return found.letters
        if not self._numbers:
            return await self._all(desk)
        letters: list[DeadLetter] = []
        for number in self._numbers:
            found_one = await desk.log.dead_letters(after=number - 1, limit=1, has_values=False)
            if not found_one or found_one[0].dead_letter_id != number:
                raise UsageError("dead letter", value=number, advice="nothing was done; see `gristmill dlq ls`")
            letters += found_one
        return letters

    async def _all(self, desk: Desk) -> list[DeadLetter]:
        letters: list[DeadLetter] = []
        while True:
            after = letters[-1].dead_letter_id if letters else 0
            page = await desk.log.dead_letters(topic=self._topic, after=after, limit=PAGE, has_values=False)
            letters += page
            if len(page) < PAGE:
                return letters


PAGE = 1_000


def _close(
    settings: Settings, chosen: _Chosen, kind: Literal["requeued", "dropped"], *, reason: str, is_dry: bool
) -> int:
    folder = folder_of(settings)

    async def close() -> int:
        async with open_desk(folder, settings) as desk:
            letters = await chosen.find(desk)
            if is_dry:
                return len(letters)
            log_to(settings, folder)
            starts = range(0, len(letters), STEP)
            is_quiet = len(letters) <= STEP
            steps = track(starts, description=chosen.act, console=plain_console(), transient=True, disable=is_quiet)
            closed = 0
            for start in steps:
                part = letters[start : start + STEP]
                with refusing(part[0].dead_letter_id):
                    closed += await close_letters(desk, whoever_calls(), part, kind, reason=reason)
            if closed < len(letters):
                advice = f"{closed} of {len(letters)} {kind}: somebody else was quicker with the rest"
                raise UsageError("dead letters", value=len(letters) - closed, advice=advice)
            return closed

    count = run_async(close())
    print(f"would be {kind}: {count}" if is_dry else f"{kind}: {count}")
    return EXIT_OK
