"""From an experiment to a trace: hypotheses, records, memory, the run itself and the thread it runs in."""
