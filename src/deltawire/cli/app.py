"""Which app a command is about: the file, or the module, with the user's functions."""

from deltawire.domain.errors import DeclarationError
from deltawire.settings import Settings


def app_of(settings: Settings, command: str) -> str:
    """Raises ``DeclarationError``, which tells how to name one, where nobody did."""
    if settings.app is None:
        raise DeclarationError(
            f"which functions? Name their file: deltawire {command}, "
            'or set DELTAWIRE_APP=shop.py, or write app = "shop.py" into deltawire.toml'
        )
    return settings.app
