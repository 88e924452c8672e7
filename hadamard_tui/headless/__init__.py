"""Commands without the app: their computations, output and files."""
