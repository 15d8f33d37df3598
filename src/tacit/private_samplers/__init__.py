"""Samplers that run beside rows, on the holder's side: all their randomness is the operating system's."""
