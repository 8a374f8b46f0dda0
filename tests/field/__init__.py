"""Failures that people met with servers of this kind: each played with the smallest input that shows it.

In flow ``rows.py``, the list with an id for each; out flow tests that are named by it (``test_uf_01_…``), on every
transport that the failure concerns, and a line for each id at the end of ``make field`` (``account.py``).
``test_accounted.py`` fails when an id has no test. What waits for a feature that does not exist yet is in
``test_deferred.py``, and nowhere else.
"""
