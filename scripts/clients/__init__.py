"""Run the contract suites of the official clients (`python -m scripts.clients`)."""
