"""`python -m emulator.cli` is `pubsub-emulator`."""

import sys

from emulator.cli import main

sys.exit(main())
