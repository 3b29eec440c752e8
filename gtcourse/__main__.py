"""``python -m gtcourse``: the command line."""

from gtcourse.course.commands import main

main()
