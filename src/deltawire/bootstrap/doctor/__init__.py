"""Looks at everything that a configuration says, and at everything that it names, before callers find out."""
