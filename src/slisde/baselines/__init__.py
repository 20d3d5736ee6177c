"""The models the paper compares with, behind the same interface."""
