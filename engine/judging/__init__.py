"""Judging: the symmetries of learners and update rules, and their losses compared with bounds."""
