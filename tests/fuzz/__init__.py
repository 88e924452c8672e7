"""Search for errors: random experiments from the catalogue, compared with theory, verdicts and backends.

`make fuzz SECONDS=600 SEED=1` draws experiments and runs them. A finding is a theory line that a learner
violates, a verdict that the certificate contradicts, a backend that differs from `dense`, or a crash. Each
finding is one line with the path of a minimal preset that shows it; then the exit status is 1.
"""
