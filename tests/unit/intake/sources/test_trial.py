"""A trial tells what each path finds and what would become of the records."""

from __future__ import annotations

from gristmill.intake.sources.trial import Trial
from tests.unit.intake.sources.samples import NEWS, encode, news, record


def test_a_trial_counts_hits_outcomes_and_the_first_bad_records() -> None:
    trial = Trial(news())
    for value in (record(), record(lang=None, t="x"), record(lang="de"), record(t=None), {}):
        trial.add(encode(value))
    trial.add(b"{", broken="")
    trial.add(b"", broken="record: too long")
    report = trial.report()
    assert report.records == 7
    assert report.outcomes == {
        "accepted": 1,
        "filtered:too_short": 1,
        "filtered:foreign": 1,
        "quarantined:mapping": 2,
        "quarantined:json": 1,
        "quarantined:bytes": 1,
    }
    by_field = {one.to: one for one in report.paths}
    assert (by_field["title"].hits, by_field["title"].sample) == (3, '"Caf\u00e9 opens"')
    assert (by_field["images"].hits, by_field["images"].values) == (4, 8)
    assert by_field["images"].sample == '"https://example.org/a"'
    assert by_field["ext.main.tags"].sample == '["food","town"]'
    assert [(bad.number, bad.input_id) for bad in report.bad] == [(4, "7"), (5, ""), (6, ""), (7, "")]
    assert report.bad[0].violations == ("/title: is required, and $.art.t finds nothing",)
    assert report.is_sound


def test_a_trial_without_a_single_item_is_not_sound() -> None:
    trial = Trial(news(NEWS.replace('"$.art.t"', '"$.nothing"')))
    trial.add(encode(record()))
    report = trial.report()
    assert not report.is_sound
    assert (report.paths[0].hits, report.paths[0].sample) == (0, "")


def test_a_sample_is_a_value_that_became_one_of_the_field_and_is_kept_short() -> None:
    trial = Trial(news())
    trial.add(encode(record(made="never", b="x" * 500)))
    trial.add(encode(record()))
    by_field = {one.to: one for one in trial.report().paths}
    assert by_field["created_at"].sample == "1706565600000"
    assert len(by_field["body"].sample) == 60
    assert by_field["body"].sample.endswith("\u2026")


def test_filters_that_cannot_be_judged_are_told() -> None:
    trial = Trial(news(NEWS.replace("size(item.title) < 2", "item.body.size() / item.ext.main.heat > 1000")))
    value = record()
    value["stats"]["heat"] = 0
    trial.add(encode(value))
    assert trial.report().filter_errors == {"too_short": 1}
