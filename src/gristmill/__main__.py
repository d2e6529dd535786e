"""`python -m gristmill`: the same as the command `gristmill`."""

import sys

from gristmill.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
