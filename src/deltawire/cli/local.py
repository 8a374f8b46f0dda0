"""``deltawire local``: the model that runs here."""

import typer

app = typer.Typer()


@app.callback(invoke_without_command=True)
def local(context: typer.Context) -> None:
    """The model that runs here and needs no key."""
    if context.invoked_subcommand is None:
        print(context.get_help())


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
