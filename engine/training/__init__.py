"""Training of a learner: descents and their steps, pieces of work, records."""
