"""Results and tasks that the tests of this folder place in plans."""

from __future__ import annotations

from typing import Annotated, Optional

from msgspec import Struct

from gristmill import LLM, Embedder, Item, Label, Role, RunScope, Skip, cell, kept, task, transient


@cell("language")
class Language(Struct, frozen=True):
    code: str


@kept
class Verdict(Struct, frozen=True):
    allowed: bool


@transient
class Words(Struct, frozen=True):
    words: tuple[str, ...]


@cell("topics")
class Topics(Struct, frozen=True):
    labels: tuple[Label, ...] = ()


@task
def language(item: Item) -> Language:
    return Language("en" if item.text.isascii() else "xx")


@task
def gate(item: Item) -> Skip | None:
    return None if item.text else Skip("no text")


@task
def words(item: Item, lang: Language, *, least: int = 3) -> Words:
    return Words(tuple(word for word in item.text.split() if len(word) >= least))


@task
def policy(item: Item, *, forbidden: str) -> Verdict:
    return Verdict(forbidden not in item.text)


@task
def topics(item: Item, verdict: Verdict, found: Words | None) -> Topics | Skip:
    return Topics() if verdict.allowed and found else Skip("not allowed")


@task
def archive(lang: Optional[Language], verdict: Verdict | None) -> None:  # noqa: UP045
    """A task at the end that only takes what may be missing."""


@task(attempts=1)
async def judged(
    item: Item, judge: Annotated[LLM, Role("safety")], near: Annotated[Embedder, Role("semantic")], run: RunScope
) -> Verdict:
    return Verdict(allowed=run.attempt == 1)
