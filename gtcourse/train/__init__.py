"""How a model learns; each part is imported from its module: ``gtcourse.train.loop``."""
