"""The laboratory without the app: what the commands compute, print and save."""
