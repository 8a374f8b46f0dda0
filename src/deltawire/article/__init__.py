"""The messages of ``proto/deltawire/article``, as ``make generate`` writes them."""
