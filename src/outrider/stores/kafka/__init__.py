"""Kafka: events go out by `events`, pages come in by `consumer`; `broker` and `topics` are what both need."""
