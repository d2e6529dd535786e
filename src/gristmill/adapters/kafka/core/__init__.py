"""The decisions of the Kafka log: no IO, no clock, no client library."""
