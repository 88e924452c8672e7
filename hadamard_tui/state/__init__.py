"""What outlives the app: configuration, remembered set-up, files written whole or not at all."""
