"""Many fits as one study: a grid of configurations, each with several seeds, one record a fit."""
