"""Private gradient descent as a mechanism."""
