"""What a person looks at: one self-contained page about a fit."""
