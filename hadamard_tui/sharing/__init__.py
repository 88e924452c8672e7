"""What leaves the program: command lines, presets, curves and figures."""
