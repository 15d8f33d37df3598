"""Numerical tools that know nothing of privacy or of models."""
