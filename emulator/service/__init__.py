"""What the server does around the engine: time, waiting, and one implementation of every RPC."""
