"""Every fault on every wire, as a deck of cards."""

from random import Random

from soak.caller_faults import CALLERS
from soak.play import Fault
from soak.provider_faults import ILL, PROVIDERS, WELL

Card = tuple[Fault, str]
"""A fault and the wire on which it is played."""


def deck(number: int, random: Random) -> list[Card]:
    """All that is played in the round of that number, counted from 0, in a random order."""
    phase = ILL if number % 2 == 0 else WELL
    cards = [
        (fault, wire) for fault in (*PROVIDERS, *CALLERS, phase) for wire in fault.wires for _ in range(fault.often)
    ]
    random.shuffle(cards)
    return cards
