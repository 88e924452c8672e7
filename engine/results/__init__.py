"""Results of a run: traces, views, headlines and JSON."""
