"""The laboratory without the app: the commands' computations, output and files."""
