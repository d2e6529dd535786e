import msgspec
import pytest

from gristmill.domain.errors import DataError
from gristmill.engine.messages.core.envelope import Envelope, check_envelope

SOUND = Envelope(id="1", type="comment.published")


def test_a_sound_envelope_is_taken() -> None:
    check_envelope(SOUND)
    check_envelope(msgspec.structs.replace(SOUND, key="日本", extras={"subject": "x"}, body=b"\x00"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": ""}, "id of a record is empty"),
        ({"tenant": ""}, "tenant of a record is empty"),
        ({"type": "x" * 1_025}, "type of a record is too long"),
        ({"key": "a\nb"}, r"key of a record holds a control character: '\\u000a'"),
        ({"trace": "\ud800"}, r"'\\ud800'"),
        ({"source_rev": -1}, "source_rev of a record: -1"),
        ({"source_rev": 1 << 63}, "source_rev"),
        ({"attempt": 0}, "from 1 up"),
        ({"at_ms": -1}, "time of a record"),
        ({"extras": {"Upper": "x"}}, "attribute of a record: 'Upper'"),
        ({"extras": {"good": "\x7f"}}, "good of a record"),
    ],
)
def test_what_nothing_could_carry_is_refused_by_name(changed: dict[str, object], said: str) -> None:
    with pytest.raises(DataError) as caught:
        check_envelope(msgspec.structs.replace(SOUND, **changed))
    assert said in str(caught.value)
