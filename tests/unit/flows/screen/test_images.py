"""What the flow `screen` says about pictures, with fakes for network, decoder and model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gristmill import Join
from gristmill.domain.errors import ConfigError, Unavailable
from gristmill.domain.item import AppliedLabel, freeze
from gristmill.engine.driver import Driver, Ended
from gristmill.flows.screen import ImageOptions, build_plan
from gristmill.flows.screen.images import IMAGES_MAX
from gristmill.plans.compile import compile_plan
from gristmill.plans.registry import RegisteredPlan
from gristmill.plans.resources import Need
from gristmill.ports.media import ImageClassifier, ImageEmbedder, ImageReader, MediaFetcher, Missing
from gristmill.testing.media import FakeFetcher, FakeImageModel, FakeImageReader
from tests.driving import ITEM, JumpingClock, drive_with, statuses

A, B, C = (f"https://cdn.example/{name}.jpg" for name in "abc")
SHA_OF_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
DOWN = Unavailable("cannot fetch", value="https://cdn.example/")
IMAGE_TASKS = ["image_references", "pictures", "image_facts", "nudity", "similar_pictures"]


async def screen(
    *images: str,
    bodies: dict[str, bytes | Missing | Unavailable],
    options: ImageOptions = ImageOptions(),  # noqa: B008 (it is frozen)
    score: float = 0.0,
    text: str = "a quiet morning at the harbour",
) -> Ended:
    model = FakeImageModel(lambda pixels: score)
    resources: dict[Need, object] = {
        Need(MediaFetcher, "images"): FakeFetcher(bodies),
        Need(ImageReader, "images"): FakeImageReader(),
        Need(ImageClassifier, "nudity"): model,
        Need(ImageEmbedder, "copies"): model,
    }
    plan = RegisteredPlan(compile_plan(build_plan(images=options)), "screen", "shadow")
    driver = Driver(plan, resources=resources, clock=JumpingClock())
    try:
        return await drive_with(driver, replace(ITEM, text=text, ext=freeze({"images": list(images)})))
    finally:
        driver.close()


def cell(ended: Ended, field: str) -> Any:
    return next(each.value for each in ended.cells if each.field == field)


def label(ended: Ended, val: str) -> AppliedLabel | None:
    return next((each for each in ended.labels if each.val == val), None)


def joins(ended: Ended) -> dict[str, Join]:
    found = [each.contribution for each in ended.contributions]
    return {each.space: each for each in found if isinstance(each, Join)}


async def test_an_item_without_pictures_is_through_without_waiting() -> None:
    ended = await screen(bodies={})
    assert {statuses(ended)[name] for name in IMAGE_TASKS} == {"skipped"}
    assert {each.field for each in ended.cells}.isdisjoint({"images", "nudity"})


async def test_pictures_are_recorded_with_what_they_share() -> None:
    ended = await screen(A, B, bodies={A: b"a", B: b"b"})
    assert ended.status == "done", ended.error
    facts = cell(ended, "images")
    assert [(fact.reference, fact.sha256[:8], fact.body_bytes) for fact in facts.images] == [
        (A, SHA_OF_A[:8], 1),
        (B, facts.images[1].sha256[:8], 1),
    ]
    assert facts.missing_media == ()
    assert label(ended, "nsfw") is None
    assert label(ended, "unscreened") is None
    shared = joins(ended)
    assert set(shared) == {"exact", "picture", "picture-vector"}
    assert len(shared["picture"].keys) == 32
    assert f"s1:{SHA_OF_A}" in shared["picture"].keys
    assert len(shared["picture-vector"].keys) == 32


async def test_equal_words_under_other_pictures_are_no_duplicate() -> None:
    first, again, other = [
        joins(await screen(A, bodies={A: body}, text="good morning"))["exact"] for body in (b"a", b"a", b"b")
    ]
    assert first.keys == again.keys
    assert first.keys != other.keys
    words_alone = joins(await screen(bodies={}, text="good morning"))["exact"]
    assert words_alone.keys != first.keys


async def test_the_same_picture_under_other_words_shares_its_keys() -> None:
    one = joins(await screen(A, bodies={A: b"a"}, text="good morning"))
    other = joins(await screen(B, bodies={B: b"a"}, text="something else"))
    assert one["picture"].keys == other["picture"].keys
    assert one["picture"].label == "near-duplicate"
    assert one["exact"].keys != other["exact"].keys


async def test_nudity_is_labelled_with_score_evidence_and_model() -> None:
    ended = await screen(A, bodies={A: b"a"}, score=0.93)
    found = label(ended, "nsfw")
    assert found is not None
    assert (found.score, found.evidence, found.revision) == (0.93, (f"{A} (0.93)",), "fake-1")
    assert cell(ended, "nudity").scores[0].bucket == "explicit"


@pytest.mark.parametrize(("score", "bucket"), [(0.79, "unsure"), (0.2, "unsure"), (0.19, "safe")])
async def test_below_the_threshold_there_is_a_bucket_and_no_label(score: float, bucket: str) -> None:
    ended = await screen(A, bodies={A: b"a"}, score=score)
    assert label(ended, "nsfw") is None
    assert cell(ended, "nudity").scores[0].bucket == bucket


async def test_the_threshold_can_be_set() -> None:
    ended = await screen(A, bodies={A: b"a"}, score=0.5, options=ImageOptions(nsfw_score=0.5))
    assert label(ended, "nsfw") is not None


async def test_an_absent_picture_is_recorded_and_no_cause_for_alarm() -> None:
    ended = await screen(A, B, bodies={A: b"a"})
    assert ended.status == "done"
    assert [(each.reference, each.reason) for each in cell(ended, "images").missing_media] == [(B, "absent")]
    assert label(ended, "unscreened") is None
    assert "exact" not in joins(ended)


async def test_a_picture_that_could_not_be_judged_is_said_aloud() -> None:
    ended = await screen(A, B, C, bodies={A: b"a", B: b"broken", C: Missing("blocked_address", "leads inwards")})
    found = label(ended, "unscreened")
    assert found is not None
    assert found.reason == "2 of 3 pictures could not be looked at: broken, blocked_address"
    assert found.evidence == (f"{B}: it says so itself", f"{C}: leads inwards")


async def test_without_any_picture_left_the_models_are_not_asked() -> None:
    ended = await screen(A, bodies={A: b"broken"})
    assert statuses(ended)["nudity"] == "skipped"
    assert statuses(ended)["similar_pictures"] == "skipped"
    assert cell(ended, "images").images == ()


async def test_a_server_that_is_down_fails_the_item_or_is_recorded() -> None:
    failed = await screen(A, B, bodies={A: b"a", B: DOWN})
    assert (failed.status, failed.failed_task, failed.error_class) == ("failed", "pictures", "Unavailable")
    assert "media.on_error = 'degrade'" in failed.error
    degraded = await screen(A, B, bodies={A: b"a", B: DOWN}, options=ImageOptions("degrade"))
    assert degraded.status == "done"
    assert [each.reason for each in cell(degraded, "images").missing_media] == ["unavailable"]
    assert label(degraded, "unscreened") is not None


async def test_further_pictures_are_named_as_not_looked_at() -> None:
    urls = [f"https://cdn.example/{number}.jpg" for number in range(IMAGES_MAX + 2)]
    ended = await screen(*urls, bodies={url: url.encode() for url in urls})
    facts = cell(ended, "images")
    assert len(facts.images) == IMAGES_MAX
    assert [each.reason for each in facts.missing_media] == ["too_many", "too_many"]
    assert len(joins(ended)["picture"].keys) == 64


async def test_known_pictures_and_places_are_labelled_with_their_reasons(tmp_path: Path) -> None:
    path = tmp_path / "known.csv"
    path.write_text(f"sha256,{SHA_OF_A},reported\nhost,cdn.example,bad place,bad-host\n", encoding="utf-8")
    ended = await screen(A, B, bodies={A: b"a"}, options=ImageOptions(lists=(str(path),)))
    listed, host = label(ended, "listed"), label(ended, "bad-host")
    assert listed is not None
    assert (listed.reason, listed.evidence) == ("reported", (f"{A} (sha256)",))
    assert host is not None
    assert host.evidence == (f"{A} (host)", f"{B} (host)")


async def test_a_list_that_is_wrong_keeps_the_plan_from_being_built(tmp_path: Path) -> None:
    path = tmp_path / "known.csv"
    path.write_text("md5,abc\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 1"):
        build_plan(images=ImageOptions(lists=(str(path),)))
    with pytest.raises(ConfigError, match="cannot read match list"):
        build_plan(images=ImageOptions(lists=(str(tmp_path / "none.csv"),)))


async def test_a_picture_needs_no_words() -> None:
    assert label(await screen(A, bodies={A: b"a"}, text=""), "low-quality") is None
    assert label(await screen(bodies={}, text=""), "low-quality") is not None
