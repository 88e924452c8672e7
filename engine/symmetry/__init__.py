"""Symmetry: under which transformations of the instances predictions do not change."""
