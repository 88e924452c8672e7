"""A campaign against the program, outside the test suite: random keys, presets, kills, and hours of runs.

`make soak` runs all of it, side by side on two cores, in about half an hour, and prints a table;
`python -m tests.soak PART --seed N --count N` runs one part alone. All input is drawn from seeds: what fails
prints the command that draws the same again.
"""
