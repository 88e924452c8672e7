"""What a learner may add to the steps of its update rule, whichever that is."""
