"""What Kafka's errors mean to whoever called, and what is wrong with settings before anybody is asked."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from gristmill.adapters.kafka.producing import translate
from gristmill.domain.errors import ConfigError, OutcomeUnknown, Unavailable, UsageError
from gristmill.runtime.log_kafka import check_brokers
from gristmill.runtime.settings_log import LogSection


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._MSG_TIMED_OUT, OutcomeUnknown),
        (KafkaError.MSG_SIZE_TOO_LARGE, UsageError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, ConfigError),
        (KafkaError._TRANSPORT, Unavailable),
    ],
)
def test_an_error_says_what_the_caller_can_do(code: int, kind: type[Exception]) -> None:
    assert type(translate(KafkaException(KafkaError(code)), "records")) is kind


def test_an_error_without_a_code_may_pass() -> None:
    assert type(translate(BufferError("full"), "records")) is Unavailable


async def test_a_setting_of_the_client_needs_a_name_and_a_value() -> None:
    with pytest.raises(ConfigError, match=r"log\.client"):
        await check_brokers(LogSection(backend="kafka", client=("security.protocol",)))
