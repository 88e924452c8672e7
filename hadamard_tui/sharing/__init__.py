"""Files and text that leave the program: command lines, presets, curves and figures."""
