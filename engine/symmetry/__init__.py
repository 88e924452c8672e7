"""Symmetry: transformations of instances that leave predictions unchanged, and their measurement."""
