"""How a model learns.

Each part is imported from its own module, as in ``from gtcourse.training.fit import fit``: the loop
and the tasks need Fabric and torchmetrics, which take seconds to import and which the models and
data do without.
"""
