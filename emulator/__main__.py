"""`python -m emulator` is `pubsub-emulator`."""

import sys

from emulator.cli import main

sys.exit(main())
