"""A checker for every exercise, chapter by chapter."""
