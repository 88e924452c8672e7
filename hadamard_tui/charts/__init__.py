"""Charts of series on axes, painted as braille or printed. Charts do not know what the series measure."""
