"""Descriptions of pictures, and views. A view holds the computed curves of a picture as arrays."""
