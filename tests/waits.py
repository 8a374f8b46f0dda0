"""How long tests wait whose subject is a time of a minute and more: scaled down, or once as long as it is in the field
(``DELTAWIRE_TEST_REAL_TIME=1``). ``make soak`` plays those that are marked ``waits`` so."""

import os

REAL = os.environ.get("DELTAWIRE_TEST_REAL_TIME") == "1"


def seconds(real: float, scaled: float) -> float:
    return real if REAL else scaled


LONGEST = seconds(1200, 60)
"""How long a caller waits for anything."""
