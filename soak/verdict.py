"""Whether what a caller saw is what its run had to come to."""

from soak.play import Manner, Play, Seen


def breach(wire: str, play: Play, seen: Seen) -> str | None:
    """What is wrong, if anything."""
    if seen.left:
        return None if play.leaves else "the caller left, and should not have"
    if play.manner is Manner.sends_bytes:
        return (
            None
            if seen.cut or set(seen.ends) <= play.told
            else f"bytes that are no call were answered with {seen.ends}"
        )
    if seen.cut and not seen.ends:
        return None if _may_be_cut(wire, play, seen) else "the connection was cut"
    if len(seen.ends) != 1:
        return f"{len(seen.ends)} terminal events: {seen.ends}"
    [end] = seen.ends
    if end not in play.outcomes | play.told:
        return f"it ended in {end}, not in {' or '.join(sorted(play.outcomes | play.told))}"
    return _wrong_answer(wire, play, seen) if end == "finished" else _wrong_beginning(wire, play, seen)


def _may_be_cut(wire: str, play: Play, seen: Seen) -> bool:
    """A plain text that fails after its first byte, and whoever takes nothing."""
    if play.manner is Manner.takes_nothing:
        return True
    failed_late = wire == "text" and bool(play.said) and "finished" not in play.outcomes
    return failed_late and _wrong_beginning(wire, play, seen) is None


def _wrong_answer(wire: str, play: Play, seen: Seen) -> str | None:
    if play.output is not None:
        return None if seen.output == play.output else f"the value is {seen.output!r}, not {play.output!r}"
    said = _as_shown(wire, play.said)
    return None if seen.text == said else f"the text is {seen.text[:200]!r}, not {said[:200]!r}"


def _wrong_beginning(wire: str, play: Play, seen: Seen) -> str | None:
    if play.manner is Manner.takes_nothing or _as_shown(wire, play.said).startswith(seen.text):
        return None
    return f"the text began with {seen.text[:200]!r}, not with {play.said[:200]!r}"


def _as_shown(wire: str, said: str) -> str:
    """A CR cannot be data of an event stream."""
    return said.replace("\r\n", "\n").replace("\r", "\n") if wire in ("article", "article_ws") else said
