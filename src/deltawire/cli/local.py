"""``deltawire local``: the model that runs here."""

import typer

app = typer.Typer(no_args_is_help=True, help="The model that runs here and needs no key.")


@app.callback()
def local() -> None:
    """The model that runs here and needs no key."""


@app.command()
def install() -> None:
    """Install the local model into this Python environment."""
    from deltawire.cli.terminal import complain
    from deltawire.providers.local.install import InstallError
    from deltawire.providers.local.install import install as install_packages

    try:
        install_packages(lambda said: print(said, flush=True))
    except InstallError as error:
        complain(str(error))
        raise typer.Exit(1) from None
