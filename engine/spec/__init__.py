"""Experiments as data: preset files, in which numbers may be expressions as in papers, and their schema."""
