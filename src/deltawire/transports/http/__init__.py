"""The HTTP family: one ASGI app."""
