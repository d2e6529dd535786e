"""Rule files, trained heads and match lists of the flow `screen`, read once per process and path."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from gristmill.domain.errors import ConfigError
from gristmill.operators.media import MatchList, read_match_list
from gristmill.operators.rules import RuleSet, read_rules
from gristmill.operators.text import SIGNALS
from gristmill.operators.text.head import SpamHead, load_head

__all__ = ["load_head_file", "load_match_lists", "load_rules", "read_shipped_rules"]

SHIPPED_RULES = "rules.yaml"


def read_shipped_rules() -> str:
    """Return the text of the shipped rule file, to start a copy from."""
    return resources.files(__package__).joinpath(SHIPPED_RULES).read_text("utf-8")


@cache
def load_rules(path: str) -> RuleSet:
    """Return the checked rules of a file, of the shipped one for an empty path.

    Raises:
        ConfigError: it cannot be read, or is no sound rule file.
    """
    known = {name: signal.neutral for name, signal in SIGNALS.items()}
    if not path:
        return read_rules(read_shipped_rules(), file=SHIPPED_RULES, known=known)
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("cannot read rule file", value=path, advice=str(error)) from error
    return read_rules(text, file=path, known=known)


@cache
def load_head_file(path: str) -> SpamHead:
    """Return the trained head in a file.

    Raises:
        ConfigError: it cannot be read.
        DataError: it holds no head, or one of other features.
    """
    try:
        stored = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError("cannot read trained head", value=path, advice=str(error)) from error
    return load_head(stored)


@cache
def load_match_lists(paths: tuple[str, ...]) -> MatchList:
    """Return the entries of all files as one list.

    Raises:
        ConfigError: a file cannot be read, or a line of one is wrong.
    """
    entries = MatchList()
    for path in paths:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("cannot read match list", value=path, advice=str(error)) from error
        read_match_list(text, file=path, into=entries)
    return entries
