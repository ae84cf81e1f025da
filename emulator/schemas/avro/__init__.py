"""Avro schemas (AVR-*, SCH-32)."""
