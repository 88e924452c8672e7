"""Learners, problems and bounds of the Hadamard laboratory: an experiment goes in, a trace comes out.

The engine needs no terminal, and importing it loads no torch. Only `engine.core.lazy` imports torch.
"""

__version__ = "0.1.0"
