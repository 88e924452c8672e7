"""Templates of parts, one complete file per family. The tests check that each template works unchanged."""
