"""Commands without and with the app, one file per subject. They import heavy modules themselves."""
