"""A recipe, data and a seed become a folder: the run, its record and its results."""
