"""What private descents and private chains share: many noisy sums over rows, one after the other."""
