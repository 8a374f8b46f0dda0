"""What uvicorn's connections must know of the settings: it hands nothing but its own configuration to them."""

import uvicorn

from deltawire.transports.http.settings import HttpSettings


class Config(uvicorn.Config):
    """Made as uvicorn's own; whoever makes it says the limits."""

    limits = HttpSettings()


def limits_of(config: uvicorn.Config) -> HttpSettings:
    return config.limits if isinstance(config, Config) else HttpSettings()
