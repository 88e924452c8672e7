"""The terminal below the app: how busy it is, its signals and its standard streams."""
