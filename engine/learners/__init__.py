"""Learners of an experiment, and options for the steps of their update rules."""
