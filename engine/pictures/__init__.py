"""Pictures of results, and the views that charts, tables and claims read."""
