"""What is shipped: the wheel and the source archive hold the built page, so that nobody who has them needs Node."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def build(root: Path, target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    [made] = folder.iterdir()
    return made


def files(built_page: Path) -> dict[str, bytes]:
    return {
        path.relative_to(built_page).as_posix(): path.read_bytes() for path in built_page.rglob("*") if path.is_file()
    }


def packed(wheel: Path) -> dict[str, bytes]:
    """The page's files in it."""
    folder = "deltawire/playground/"
    with zipfile.ZipFile(wheel) as archive:
        return {name.removeprefix(folder): archive.read(name) for name in archive.namelist() if name.startswith(folder)}


@pytest.fixture(scope="module")
def unpacked(built_page: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001  (it is packed)
    """The source archive, as who has downloaded it sees it."""
    archive = build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    [root] = folder.iterdir()
    return root


def test_the_wheel_holds_the_page_with_all_that_it_names(built_page: Path, tmp_path: Path) -> None:
    found = packed(build(ROOT, "wheel", tmp_path))
    assert found == files(built_page)
    named = re.findall(r'(?:src|href)="\./([^"]+)"', found["index.html"].decode())
    assert len(named) >= 2
    assert {*named} <= found.keys()


def test_a_wheel_of_the_source_archive_is_the_same(built_page: Path, unpacked: Path, tmp_path: Path) -> None:
    assert packed(build(unpacked, "wheel", tmp_path)) == files(built_page)


def test_in_an_unpacked_source_archive_nothing_is_left_to_build(unpacked: Path) -> None:
    script = unpacked / "requirements" / "web.py"
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env={"PATH": ""})
    assert ended.stdout == ""
    assert not (unpacked / "web" / "node_modules").exists()
