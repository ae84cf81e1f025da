"""What holds where nothing else is said; cheap to import."""

DEFAULT_PORT = 8085
