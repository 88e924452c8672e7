"""Running and showing experiments: sessions, playback, kept runs and certificates."""
