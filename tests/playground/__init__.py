"""The playground in a real Chromium: the built page, served by ``deltawire serve`` straight and behind a real nginx.

``app.py`` has the functions, on a scripted upstream. In flow clicks and keys; out flows what the page shows.
"""
