"""Private Markov chains as a mechanism."""
