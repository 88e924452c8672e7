"""Diagnosis of the inductive bias that a table rewards.

Pairs of learners learn from the same rows, before and after a random rotation of the features. One learner of
a pair depends on the feature axes, and its partner is rotation invariant. Source: Grinsztajn, Oyallon,
Varoquaux 2022; theory/symmetry#diagnose.
"""
