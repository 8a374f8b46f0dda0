"""The page's own code, where it needs no browser."""
