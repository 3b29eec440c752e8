"""``python -m gtcourse``: the command line."""

from gtcourse.cli import main

main()
