"""The soak: faults of every kind on every wire of the shipped server, over and over, and what is left when all is over.

A *round* is a shuffled deck that holds each fault on each wire (``faults.py``): callers on real sockets (a
``*_caller.py`` each) play it at once against ``deltawire serve`` with a scripted provider behind it (``provider.py``).
What each run must come to is known before it is made (``play.py``), and what its caller, its provider and the log saw
of it is held against that (``verdict.py``, ``book.py``). Between two rounds nothing is under way, and what the server
still holds is counted (``gauges.py``): memory, descriptors, sockets, tasks.
"""
