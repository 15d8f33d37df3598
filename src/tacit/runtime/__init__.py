"""How programs run on both sides of the boundary: JAX, chains, processes, memory."""
