"""The garbage collector, in a process that is the server's own."""

import gc


def tune_garbage_collector() -> None:
    gc.collect()
    gc.freeze()
