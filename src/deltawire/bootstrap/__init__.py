"""Puts the rooms together. Only here is every class known."""
