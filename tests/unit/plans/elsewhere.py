"""A result type that has the name of another one: two teams, one word."""

from msgspec import Struct

from gristmill import Item, kept, task


@kept
class Language(Struct, frozen=True):
    name: str


@task
def language(item: Item) -> Language:
    return Language("English")
