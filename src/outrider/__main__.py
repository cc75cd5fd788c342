"""`python -m outrider` is the `outrider` command."""

import sys

from outrider.cli import main

if __name__ == "__main__":
    sys.exit(main())
