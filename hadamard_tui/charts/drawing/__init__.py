"""Drawing of plots in terminal cells: rasters, frames, legends, marks and whole sheets."""
