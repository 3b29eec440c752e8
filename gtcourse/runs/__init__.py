"""Runs: a recipe, data and a seed become a folder with a record and trained weights."""
