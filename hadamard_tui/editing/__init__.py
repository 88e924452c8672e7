"""Editing of an experiment in the app, and descriptions of the differences between two experiments."""
