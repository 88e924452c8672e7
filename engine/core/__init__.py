"""Foundations of all other packages: parts, their registry, lazy torch, devices, random streams, files."""
