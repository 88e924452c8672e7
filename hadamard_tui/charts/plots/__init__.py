"""Converts the results of a picture to series, axes and cells of a chart, with the user's chart options."""
