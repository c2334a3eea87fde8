"""`python -m autocomp`."""

from autocomp.cli import main

if __name__ == "__main__":
    main()
