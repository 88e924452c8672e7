"""Templates of parts, one complete file per family. The tests check each template unchanged."""
