"""Pictures of results: what is drawn along what, and the views that charts, tables and claims read."""
