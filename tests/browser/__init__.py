"""Clients in a real browser, straight and through a real Envoy.

``site.py`` bundles the page of ``page/`` with the clients that it uses and serves it on an origin of its own,
``chromium.py`` opens it, ``envoy.py`` runs the proxy of ``deploy/envoy``. In flow the calls of a test; out flows what
the page made of them: each piece with the moment at which it came, the end, or the error.
"""
