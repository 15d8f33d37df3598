"""Densities that posterior sampling, private descents and private chains aim at."""
