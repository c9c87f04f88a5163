"""`python -m jobs` is `kitelift`."""

from jobs.cli import main

main()
