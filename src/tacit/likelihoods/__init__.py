"""Likelihoods of releases and reports: they score parameters, they do not sample."""
