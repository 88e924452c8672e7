"""From an experiment to a trace: the run, sweeps of runs, what they take and keep, and their thread."""
