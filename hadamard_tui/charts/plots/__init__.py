"""Plots of views: the series, axes and cells that a chart shows, and the look of a chart."""
