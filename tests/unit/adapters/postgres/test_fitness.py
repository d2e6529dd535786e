"""What a database has to be before rows are trusted to it."""

from __future__ import annotations

import pytest

from gristmill.adapters.postgres.fitness_core import ASKED, judge_database

FIT = dict.fromkeys(ASKED, "on") | {"server_version_num": "140000", "transaction_read_only": "off"}


def test_a_database_that_keeps_what_it_confirms_is_ok_in_all() -> None:
    assert {finding.verdict for finding in judge_database(FIT)} == {"ok"}
    assert {finding.verdict for finding in judge_database({**FIT, "synchronous_commit": "local"})} == {"ok"}


@pytest.mark.parametrize(
    ("setting", "value", "verdict"),
    [
        ("server_version_num", "130012", "refused"),
        ("synchronous_commit", "off", "refused"),
        ("fsync", "off", "refused"),
        ("transaction_read_only", "on", "refused"),
        ("full_page_writes", "off", "warning"),
    ],
)
def test_what_loses_confirmed_rows_is_told_with_the_next_step(setting: str, value: str, verdict: str) -> None:
    [worst] = [finding for finding in judge_database({**FIT, setting: value}) if finding.verdict != "ok"]
    assert worst.verdict == verdict
    assert worst.advice
