"""Training: import each part from its module, such as ``gtcourse.train.loop``."""
