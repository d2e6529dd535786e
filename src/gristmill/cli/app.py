"""The command line: names of the commands, and what their failures look like.

Commands are imported when they are called, so that `gristmill --help` answers at once.

Exit codes: 0 done; 1 something outside failed (or the group does not serve); 2 the call, the configuration or the input
is wrong; 3 done, but records failed or are in quarantine; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from gristmill.domain.errors import ConfigError, DataError, GristmillError, UsageError

__all__ = ["EXIT_FAULTY", "EXIT_INTERRUPTED", "EXIT_OK", "EXIT_TROUBLE", "EXIT_USAGE", "build_app", "main"]

EXIT_OK = 0
EXIT_TROUBLE = 1
EXIT_USAGE = 2
EXIT_FAULTY = 3
EXIT_INTERRUPTED = 130

COMMANDS = {
    "run": ("run:run", "Work off a file: labels and scores for each of its lines."),
    "demo": ("demo:demo", "Label sample posts, show what was found, and serve the console over it."),
    "show": ("items:show", "Show an item: text, labels, fields."),
    "explain": ("items:explain", "Tell why each task of an item ran, was skipped or failed."),
    "eval": ("evaluate:evaluate", "Compare labels with the truth: precision, recall, F1, thresholds."),
    "train": ("train:app", "Train a head on labelled texts."),
    "source": ("intake.source:app", "Try and publish Sources: how foreign records become items."),
    "generator": ("intake.generator:app", "Show what feeds plans; pause, weigh and move it."),
    "subscription": ("delivery.subscription:app", "Publish and steer subscriptions: who is told what is found out."),
    "recent": ("serving.recent:app", "Feed and serve the newest items of the authors that somebody follows."),
    "plans": ("catalogue:plans_app", "List plans, or draw one."),
    "flows": ("catalogue:flows_app", "List flows with their plans and generators."),
    "check": ("configuration:check", "Check settings, flows and rule files without starting anything."),
    "doctor": ("upkeep.doctor:doctor", "Measure and judge disk, host and servers before content is trusted to them."),
    "config": ("configuration:app", "Show settings, and where each value came from."),
    "dlq": ("letters:app", "List, show, mend, requeue and drop records that were given up."),
    "token": ("tokens:app", "Create, list and revoke the tokens of the API."),
    "up": ("up:up", "Start the process group over the topics of its generators."),
    "backup": ("upkeep.backup:backup", "Write everything that the state folder keeps into one file."),
    "restore": ("upkeep.backup:restore", "Make a state folder of a backup."),
    "retention": ("upkeep.retention:retention", "Show what each table holds and lets go of; --now lets go."),
    "compact": ("upkeep.retention:compact", "Give the space of rows that are gone back to the disk."),
    "health": ("observe:health", "Ask a running group whether it serves."),
    "metrics": ("observe:metrics", "Print the counters of the group."),
}


def build_app() -> App:
    """Return the application with all its commands, none of them imported yet."""
    app = App(name="gristmill", help="Content in; labels, scores and decisions out, each with its cause.")
    for name, (place, text) in COMMANDS.items():
        app.command(f"gristmill.cli.commands.{place}", name=name, help=text)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    _open_closed_streams()
    try:
        code = build_app()(arguments, exit_on_error=False, print_error=True, result_action="return_value")
    except CycloptsError:
        return EXIT_USAGE
    except GristmillError as error:
        print(f"gristmill: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, (UsageError, ConfigError, DataError)) else EXIT_TROUBLE
    except BrokenPipeError:
        # Whoever read our output has had enough.
        sys.stderr.close()
        return EXIT_OK
    except OSError as error:
        # The world outside: a full disk, a file that went away. A traceback would tell a person less.
        where = "" if error.filename is None else f": {os.fsdecode(error.filename)!r}"
        print(f"gristmill: {error.strerror or error}{where}", file=sys.stderr)
        return EXIT_TROUBLE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else EXIT_OK


def _open_closed_streams() -> None:
    """Point closed standard streams at nothing, so that no store or socket is opened under their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken, which is this one.
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
