"""Files and texts to share with others: command lines, presets, curves and figures."""
