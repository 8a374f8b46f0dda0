"""The transport matrix: every outcome of ``docs/contract.md`` on every transport, played against the shipped server.

In flow the tables and blocks of the page (``document.py``, ``cells.py``); a cell is one outcome on one transport. Its
provider is scripted (``notation.py``) on a real socket, its caller is ``httpx``, ``websockets`` or ``grpcio`` against
``python -m deltawire serve`` (``server.py``, and a ``*_caller.py`` each), or the engine in this process
(``engine_caller.py``). Out flow the bytes that came, which a test compares with the page's; what RPC sends is read
(``rpc.py``) and must give the same bytes again. ``table.py`` makes ``docs/transports.md`` of all of it.

A new transport is added in three steps:

1. its name in ``transports.py`` and, in ``stage.py``, the class that calls it: one with the ``call`` of ``HttpCaller``,
   which returns a ``Reply`` that renders what came as the page writes it;
2. its column on the page: a block of its own, or its name beside others in the first line of a block, in each section;
   what cannot happen on it goes into the last table;
3. ``python -m tests.matrix.table``, and nothing else: the completeness test names every outcome that the page does not
   state for it, and the promises of ``tests/contract`` run over ``transports.TRANSPORTS``.
"""
