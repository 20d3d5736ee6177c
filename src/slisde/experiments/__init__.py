"""Configurations, and what is measured from them."""
