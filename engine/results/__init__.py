"""Results of a run: traces, views, judgements, headlines and JSON."""
