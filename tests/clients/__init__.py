"""The programs of ``docs/clients.md``, run as they stand against ``examples/shop.py`` on a scripted upstream.

``page.py`` reads them, ``program.py`` runs one, ``shop.py`` has the server and what its model says.
"""
