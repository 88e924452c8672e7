"""Training of nets compiled by numba: what the backend `preactivations` is made of."""
