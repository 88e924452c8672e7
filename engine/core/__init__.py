"""What everything else stands on: parts, their registry, lazy torch, devices, random streams, files."""
