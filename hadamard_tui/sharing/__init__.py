"""Files and texts that leave the program: command lines, presets, curves and figures."""
