"""Settings that every test shares."""

import os

from hypothesis import settings

# No deadlines: tests never judge time. In CI the examples are the same on every run.
settings.register_profile("explore", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")
