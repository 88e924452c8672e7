"""How a learner is trained: descents and their steps, pieces of work, records."""
