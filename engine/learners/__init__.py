"""Learners of an experiment, with options for the steps of their update rules."""
