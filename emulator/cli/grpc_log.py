"""What gRPC's core writes to stderr by itself, past Python's logging."""

import os


def silence_grpc() -> None:
    """Keep the core quiet unless the user has asked it to speak; call before gRPC is imported.

    It reports what peers do wrong, in lines of a format of its own between ours.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
