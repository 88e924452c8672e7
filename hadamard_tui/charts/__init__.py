"""Charts of series on axes, drawn in braille or printed. They do not know what the series measure."""
