"""Judging: the symmetries of learners and update rules, and what follows from them on data."""
