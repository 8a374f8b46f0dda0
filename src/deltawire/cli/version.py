"""Which deltawire this is."""


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("deltawire")
    except PackageNotFoundError:
        return "(not installed: run from its source)"
