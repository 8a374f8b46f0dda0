"""Runs a function: one request in, events out. Read ``engine.py`` first."""
