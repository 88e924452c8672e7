"""Training of a learner: gradient descent, gradient flow, runs that can pause, and recorded results."""
