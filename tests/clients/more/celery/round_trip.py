"""One task through Celery with Pub/Sub as its broker: sent, received by a worker, done."""

from __future__ import annotations

import os
import threading
import uuid

from celery import Celery
from celery.contrib.testing.worker import start_worker

done = threading.Event()
app = Celery("round_trip", broker=f"gcpubsub://projects/celery-{uuid.uuid4().hex[:12]}")
app.conf.task_ignore_result = True
app.conf.worker_hijack_root_logger = False


@app.task(name="round_trip.greet")
def greet(text: str) -> None:
    assert text == "hello"
    done.set()


if __name__ == "__main__":
    assert "PUBSUB_EMULATOR_HOST" in os.environ
    with start_worker(app, pool="solo", perform_ping_check=False, shutdown_timeout=30):
        greet.delay("hello")
        assert done.wait(30), "the task did not run"
    print("the task ran")
