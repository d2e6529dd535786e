"""The log over Apache Kafka. Needs the extra `[kafka]`."""

from gristmill.adapters.kafka.log import KafkaLog
from gristmill.adapters.kafka.outlet import KafkaOutlet
from gristmill.adapters.kafka.settings import KafkaSettings

__all__ = ["KafkaLog", "KafkaOutlet", "KafkaSettings"]
