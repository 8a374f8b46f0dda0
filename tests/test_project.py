"""What the repository as a whole promises: locks that pin everything and name no address, one room that reads the
environment.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKS = (
    "requirements/serve.txt",
    "requirements/dev.txt",
    "requirements/web.txt",
    "src/deltawire/providers/local/requirements.txt",
)
APART = ("bench/peers/usual.txt", "bench/peers/litellm.txt")
"""Of environments of their own."""

# Put together here, so that this file does not name them either.
REGISTRY_HOSTS = tuple(
    "".join(parts)
    for parts in (
        ("py", "pi.org"),
        ("python", "hosted.org"),
        ("registry.npm", "js.org"),
        ("deb.deb", "ian.org"),
        ("crates", ".io"),
        ("proxy.go", "lang.org"),
    )
)

Pins = dict[str, str]


def pins(lock: str) -> Pins:
    """Each requirement of a lock (with its marker) and its version."""
    found: Pins = {}
    for requirement in requirements(lock):
        named = re.match(r"([a-z0-9][a-z0-9.-]*)==(\S+)( ; [^\\]*?)? \\", requirement)
        assert named, f"{lock}: not pinned to one version: {requirement.splitlines()[0]}"
        found[named[1] + (named[3] or "")] = named[2]
    return found


def requirements(lock: str) -> list[str]:
    lines = [line for line in (ROOT / lock).read_text().splitlines() if not line.lstrip().startswith("#")]
    return re.split(r"\n(?=\S)", "\n".join(lines))


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode and not os.environ.get("DELTAWIRE_TEST_REQUIRE_ALL"):
        pytest.skip("not a git checkout")
    assert listing.returncode == 0, listing.stderr
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("lock", LOCKS + APART)
def test_every_requirement_of_a_lock_is_pinned_by_hash(lock: str) -> None:
    for requirement in requirements(lock):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", requirement), requirement
    assert pins(lock)


@pytest.mark.parametrize("lock", LOCKS + APART)
def test_a_lock_names_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert not re.search(r"[a-z]+://| @ |--(extra-)?index-url|--find-links|(^| )-f ", text, re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_no_package_that_must_be_compiled(lock: str) -> None:
    assert not {"llm", "llama-cpp-python"} & {pin.split(" ")[0] for pin in pins(lock)}


@pytest.mark.parametrize("lock", LOCKS)
def test_the_development_lock_holds_every_other_lock_in_the_same_versions(lock: str) -> None:
    assert pins(lock).items() <= pins("requirements/dev.txt").items()


def test_no_tracked_file_names_a_package_registry() -> None:
    for path in tracked_files():
        content = path.read_bytes().lower()
        named = [host for host in REGISTRY_HOSTS if host.encode() in content]
        assert not named, f"{path.relative_to(ROOT)} names {named}"
        assert path.name not in {"uv.lock", "pylock.toml"}, f"{path.relative_to(ROOT)} carries download addresses"


def test_only_settings_and_secrets_read_the_environment() -> None:
    package = ROOT / "src" / "deltawire"
    readers = {str(path.relative_to(package)) for path in package.rglob("*.py") if reads_environment(path)}
    assert readers <= {"settings.py", "secrets.py"}


def reads_environment(path: Path) -> bool:
    names = {"environ", "environb", "getenv", "getenvb"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and bool(names & {a.name for a in node.names}))
        for node in ast.walk(ast.parse(path.read_text()))
    )
