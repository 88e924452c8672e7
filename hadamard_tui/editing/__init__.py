"""Editing of an experiment, and the differences between two experiments."""
