"""Commands of the command line, one file per subject. Each command imports heavy modules when it runs."""
