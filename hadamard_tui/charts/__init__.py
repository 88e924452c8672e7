"""Charts of series on axes, drawn in braille or as printed text."""
