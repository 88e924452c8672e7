"""Files and texts that users share with others: command lines, presets, curves, figures and pages."""
