"""Every action of the app, and the keys that it has."""
