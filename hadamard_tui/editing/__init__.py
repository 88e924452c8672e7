"""The experiment while it is edited, and what differs between two."""
