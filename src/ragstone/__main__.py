"""`python -m ragstone` is the command `ragstone`."""

from ragstone.cli import main

if __name__ == "__main__":
    main()
