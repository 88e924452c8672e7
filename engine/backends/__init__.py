"""Ways to compute a training run: on a matrix, by structure, or compiled."""
