"""The experiment while it is edited, and the differences between two experiments."""
