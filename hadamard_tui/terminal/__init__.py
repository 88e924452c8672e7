"""Connection between the app and the terminal: input, output speed, signals and standard streams."""
