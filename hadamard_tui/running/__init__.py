"""A run as it is shown: the session, its playback, the runs kept, the certificates."""
