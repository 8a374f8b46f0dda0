"""The one scripted upstream of a whole test session, at the address that the servers were started with."""

from tests.matrix.notation import Script
from tests.upstream import Upstream


class Provider(Upstream):
    """An upstream that is used by one test after another."""

    def play(self, script: Script) -> None:
        """Queue the script's replies. What shows no step is no reply: the provider is not to be asked."""
        for steps in script.attempts:
            if steps:
                self.script(*steps)

    async def begin(self) -> None:
        """Forget what the tests before have left, but for what they did wrong."""
        assert not self._failures, f"the upstream saw trouble: {self._failures}"
        self.exchanges.clear()
        self._scripts.clear()
        self._answer_with = lambda _: None
        self._always = None
        while not self._arrived.empty():
            self._arrived.get_nowait()
        self.drop_next_reuse(-self._reuses_to_drop)
        for connection in [open_ for open_ in self._open if not open_.idle]:
            await connection.abandon()

    @property
    def unasked(self) -> int:
        """How many scripts nobody has asked for."""
        return len(self._scripts)
