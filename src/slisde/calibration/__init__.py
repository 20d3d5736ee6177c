"""Fitting a model to expectations."""
