"""Results of a run: measured values, their views for charts and tables, headlines, and JSON."""
