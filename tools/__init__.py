"""What keeps the book and the package in order; run as ``python -m tools.<name>``."""
