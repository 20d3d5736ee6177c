"""The SLiSDE network."""
