"""What is matched: functionals of a path, and problems made of them."""
