"""Execution of experiments: runs, sweeps of runs, the store of their curves, and the worker thread."""
