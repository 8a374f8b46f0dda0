"""The messages and client stubs of ``proto/deltawire/v1``, as ``make generate`` writes them."""
