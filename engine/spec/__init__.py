"""What an experiment is: its numbers as papers write them, and the schema of preset files."""
