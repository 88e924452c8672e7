"""Commands that do not open the app: their computations, output and files."""
