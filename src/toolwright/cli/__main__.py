"""`python -m toolwright.cli` is the `toolwright` command."""

import sys

from toolwright.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
