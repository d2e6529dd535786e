"""`gristmill train`: a small head on labelled texts, kept as a revision of the state folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from gristmill.cli.app import EXIT_OK
from gristmill.cli.options import ConfigFile, StateDir, folder_of, load
from gristmill.intake.fields import FieldMap
from gristmill.runtime.composition.heads import HeadShelf
from gristmill.runtime.evaluation.sources import read_labelled

__all__ = ["app"]

app = App(name="train")


@app.command(name="spam")
def _train_spam(
    *,
    truth: Annotated[Path, Parameter(help="JSONL or CSV file of texts of which the truth is known.")],
    text: Annotated[str, Parameter(help="Its field with the text.")] = "text",
    label: Annotated[str, Parameter(help="Its field with the truth: true or false.")] = "is_spam",
    activate: Annotated[bool, Parameter(negative="", help="Have the flow `screen` use it from now on.")] = False,
    state: StateDir = None,
    config: ConfigFile = None,
) -> int:
    """Train the head that tells spam, beside the rules of the flow `screen`.

    Equal texts give an equal head: its revision names its content. Measure it on other texts than these: run them with
    the head active, then `gristmill eval`.
    """
    from gristmill.adapters.local_models import StaticEmbedder
    from gristmill.flows.screen.training import train_on

    settings = load(state=state, config=config).settings
    folder = folder_of(settings)
    fields = FieldMap({"text": text})
    labelled = read_labelled(truth, label=label, expect="spam", fields=fields, blobs=folder.blobs_dir)
    folder.prepare()
    embedder = StaticEmbedder()
    head = train_on(
        [each.text for each in labelled],
        [each.is_true for each in labelled],
        embedder,
        rules=settings.screen.rules,
    )
    shelf = HeadShelf(folder)
    path = shelf.add(head.revision, head.dump())
    positives = sum(each.is_true for each in labelled)
    print(f"trained {head.revision} on {len(labelled)} texts, {positives} of them spam")
    print(f"stored as {path}")
    if activate:
        shelf.activate(head.revision)
        print("active: the flow `screen` uses it from its next start on")
    else:
        print("not active: give --activate, or set screen.head to this file")
    return EXIT_OK
