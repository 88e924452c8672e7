"""Draws charts in terminal cells: picture, frame, legend, marks, and their composition."""
