"""Draws from a posterior as a mechanism: what is drawn from, what it costs, and the samplers' settings."""
