"""Small tools for names, files, signals and text that all of the package uses, and nobody else."""
