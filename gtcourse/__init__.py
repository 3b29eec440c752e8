"""gtcourse: graph Transformers, one readable file for each paper."""

__version__ = "0.1.0"
