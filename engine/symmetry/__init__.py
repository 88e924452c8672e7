"""Symmetry: the transformations of instances that leave predictions unchanged, and how they are measured."""
