"""Whether the function that the setting ``article_function`` names can do what is asked of it."""

from collections.abc import Mapping

from deltawire.domain.errors import DeclarationError
from deltawire.domain.function import Function
from deltawire.settings import Settings
from deltawire.transports.article import unfit


def check_article_function(functions: Mapping[str, Function], settings: Settings) -> None:
    """Raises ``DeclarationError``. The default need not be there: who serves other functions has not asked for it, and
    the endpoints say so when they are called."""
    if "article_function" not in settings.model_fields_set:
        return
    if why := unfit(functions.get(settings.article_function), settings.article_function, functions):
        raise DeclarationError(why)
