"""Charts: series on axes, painted live as braille or printed whole. They know nothing of what they show."""
