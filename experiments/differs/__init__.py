"""What the pages of differences state, measured: a module for each source.

A module holds the forms that papers print or that authors' code computes and the package has no
option for, and ``MEASURES``: the name of a row to what is measured for it.
"""
