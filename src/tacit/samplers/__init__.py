"""Samplers of the analyst's side: chains over what a release says, with explicit keys."""
