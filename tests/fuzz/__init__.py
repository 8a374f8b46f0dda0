"""Fuzz targets for what reads foreign bytes: ``make fuzz-readers`` lets atheris find inputs for them, guided by what
the code does with each; ``test_targets.py`` plays their seeds, and a few inputs more, in every run of the tests.
"""
