"""Keys and signatures of releases."""
