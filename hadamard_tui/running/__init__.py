"""Runs of experiments in the app: sessions, playback, the list of runs, and retraining of learners."""
