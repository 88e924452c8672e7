"""Descriptions of pictures, and views: the data of a picture that charts, tables and claims read."""
