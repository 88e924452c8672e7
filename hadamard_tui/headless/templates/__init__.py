"""Templates of parts: one file for each family, complete and checked as it is."""
