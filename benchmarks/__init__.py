"""Spinney and its peers on identical input: ``python -m benchmarks NAME``."""
