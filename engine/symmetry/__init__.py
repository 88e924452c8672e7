"""Symmetry: which transformations of the instances leave the predictions of a learner unchanged."""
