"""Who learns: the learner of an experiment, and what it may add to the steps of its update rule."""
