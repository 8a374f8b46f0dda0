"""What a person does at the page: fills fields in, presses keys, clicks, reads."""

from typing import Any

from tests.browser.chromium import Page

_FIELD = """(label) => {
  const found = [...document.querySelectorAll("form label")].find((each) => each.innerText.toLowerCase() === label)
  return found && document.getElementById(found.htmlFor)
}"""
_KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "ArrowRight": ("ArrowRight", 39, "")}
_SHIFT = 8


class Hands:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self._url = url

    async def open(self, function: str) -> None:
        """The function's form."""
        if await self.page.call("(url) => location.href.startsWith(url)", self._url):
            await self.page.call("(name) => { location.hash = name }", function)
        else:
            await self.page.load(f"{self._url}/#{function}")
        await self.page.until("(name) => document.querySelector('form h2')?.innerText === name", function)

    async def write(self, label: str, text: str) -> None:
        """In the place of what is in the field with that label, which is in small letters here."""
        await self.page.until(
            f"(label) => {{ const field = ({_FIELD})(label); field?.focus(); field?.select(); return Boolean(field) }}",
            label,
        )
        await self.page.command("Input.insertText", text=text)

    async def settings(self, values: dict[str, str]) -> None:
        await self.page.call("() => { document.querySelector('.settings').open = true }")
        for label, value in values.items():
            await self.write(label, value)

    async def choose(self, label: str, value: str) -> None:
        await self.page.call(
            f"""(label, value) => {{
              const field = ({_FIELD})(label)
              field.value = value
              field.dispatchEvent(new Event("change", {{ bubbles: true }}))
            }}""",
            label,
            value,
        )

    async def tick(self, label: str) -> None:
        await self.page.call(f"(label) => ({_FIELD})(label).click()", label)

    async def value(self, label: str) -> Any:
        return await self.page.call(f"(label) => ({_FIELD})(label).value", label)

    async def wire(self, wire: str) -> None:
        await self.page.call("(id) => document.querySelector(`input[value=${id}]`).click()", wire)

    async def press(self, key: str, *, shift: bool = False) -> None:
        name, number, text = _KEYS[key]
        for kind in ("keyDown", "keyUp"):
            said = {"text": text} if text and kind == "keyDown" else {}
            await self.page.command(
                "Input.dispatchKeyEvent",
                type=kind,
                key=name,
                code=name,
                windowsVirtualKeyCode=number,
                modifiers=_SHIFT if shift else 0,
                **said,
            )

    async def click(self, name: str) -> None:
        """The button with that name: its label, or its words."""
        await self.page.until(
            """(name) => {
              const named = (each) => each.getAttribute("aria-label") ?? each.innerText
              const found = [...document.querySelectorAll("button")].find((each) => named(each).startsWith(name))
              found?.click()
              return Boolean(found)
            }""",
            name,
        )

    async def run(self) -> None:
        await self.click("Run")

    async def sees(self, selector: str, text: str) -> None:
        """Return when the element is there and shows that."""
        await self.page.until("(at, text) => document.querySelector(at)?.innerText.includes(text)", selector, text)

    async def text(self, selector: str) -> str | None:
        """All that the last such element holds, character by character; ``None`` where there is none."""
        return await self.page.call("(at) => [...document.querySelectorAll(at)].at(-1)?.textContent ?? null", selector)

    async def figures(self) -> dict[str, str]:
        return await self.page.call("""() => Object.fromEntries(
          [...document.querySelectorAll(".figures > div")].map(
            ({ children: [name, value] }) => [name.textContent, value.textContent])
        )""")
