"""Diagnosis of the inductive bias that a table rewards.

Pairs of learners learn from the same rows, before and after a random rotation of the features. One learner of
a pair depends on the feature axes. Its partner is rotation invariant, or depends less on the axes. Source:
Grinsztajn, Oyallon, Varoquaux 2022; theory/symmetry#diagnose.
"""
