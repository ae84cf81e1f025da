"""The benchmark: this emulator beside Google's and a bare gRPC echo, from one client process.

`python -m scripts.bench --help` tells how to run it, docs/performance.md what the lines mean.
"""
