"""The rules of Pub/Sub: a pure state machine without clock, socket, thread or chance."""
