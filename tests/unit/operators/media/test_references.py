"""Where an item's pictures are."""

from typing import Any

import pytest

from gristmill import Item
from gristmill.domain.ids import ItemId
from gristmill.domain.item import freeze
from gristmill.operators.media import find_references, show_reference
from gristmill.operators.media.references import REFERENCES_MAX

A, B = "https://cdn.example/a.jpg", "http://cdn.example/b.png?x=1"


def found(kind: str = "post", **ext: Any) -> tuple[str, ...]:
    return find_references(Item(ItemId(1), kind=kind, ext=freeze(ext)))


@pytest.mark.parametrize(
    "ext",
    [
        {"image": A},
        {"imageUrl": A},
        {"IMAGE_URL": f" {A} "},
        {"images": [A]},
        {"media": [{"type": "photo", "url": A}]},
        {"media": {"media_url_https": A}},
        {"attachments": [{"image": {"src": A}}]},
        {"media": [{"type": "photo", "variants": [{"url": A}]}]},
    ],
)
def test_pictures_are_found_under_the_names_people_use(ext: dict[str, Any]) -> None:
    assert found(**ext) == (A,)


@pytest.mark.parametrize(
    "ext",
    [
        {},
        {"image": None, "images": [], "media": 7},
        {"link": A, "url": A, "text": A},
        {"image": "a.jpg", "images": ["ftp://cdn.example/a.jpg", "javascript:alert(1)", ""]},
        {"media": [{"type": "video", "url": A}, {"url": "https://cdn.example/a.MP4?x"}, {"id": A}]},
        {"image": "data:text/html;base64,AAAA"},
        {"media": [[[[[[A]]]]]]},
    ],
)
def test_other_fields_and_other_media_are_none(ext: dict[str, Any]) -> None:
    assert found(**ext) == ()


def test_an_item_of_kind_image_has_its_picture_under_plain_names() -> None:
    assert found("image", url=A) == (A,)
    assert found("post", url=A) == ()


def test_pictures_that_a_source_has_mapped_are_found_too() -> None:
    blocks = ({"type": "text", "text": "https://a/not.jpg"}, {"type": "image", "uri": "https://a/1.jpg"})
    article = Item(ItemId(1), kind="article", fields={"images": ("https://a/2.jpg",), "body": blocks})
    assert find_references(article) == ("https://a/2.jpg", "https://a/1.jpg")
    assert find_references(Item(ItemId(1), kind="article", fields={"body": "https://a/1.jpg"})) == ()
    picture = Item(ItemId(1), kind="image", fields={"uri": "https://a/1.jpg"})
    assert find_references(picture) == ("https://a/1.jpg",)


def test_each_is_found_once_in_order_and_their_number_has_an_end() -> None:
    assert found(images=[B, A, B], image=A) == (B, A)
    many = [f"https://cdn.example/{number}.jpg" for number in range(100)]
    assert found(images=many) == tuple(many[:REFERENCES_MAX])


def test_a_reference_is_shown_short() -> None:
    assert show_reference("data:image/png;base64," + "A" * 1_000) == "data:image/png;base64,..."
    assert show_reference(A) == A
    assert len(show_reference("https://cdn.example/" + "a" * 500)) == 120
