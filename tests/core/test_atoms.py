from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.core.atoms import (
    MAX_ATOM_CHARS,
    MIN_ATOM_CHARS,
    argument_atoms,
    atoms,
    count_atoms,
    is_path,
    string_leaves,
)
from palimpsest.core.excerpt import Json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words, However, README and/or TCP/IP", []),
        ("well-known 3.14159 1234567 ---------- ______", []),
        ("see src/core/atoms.py:42, now", ["src/core/atoms.py"]),
        ("(`snake_case`), camelCase; HTTPServer!", ["snake_case", "camelCase", "HTTPServer"]),
        ("os.path.join(x) main.py.", ["os.path.join", "main.py"]),
        ("1.2.30 v1.2.3 127.0.0.1", ["1.2.30", "v1.2.3", "127.0.0.1"]),
        ("9f2c1aa django-11299 utf16le", ["9f2c1aa", "django-11299", "utf16le"]),
        ("./src/foo.py ../x/y.py ~/.ssh/config", ["src/foo.py", "../x/y.py", "~/.ssh/config"]),
        ("https://example.org/a/b.", ["example.org/a/b"]),
        (r"C:\Users\dev\x.py is open", [r"C:\Users\dev\x.py"]),
        (r"print('one\nfoo_bar\ttwo')", ["foo_bar"]),
        ("</output> </TooltipContent>", ["TooltipContent"]),
        ("修改src/foo.py文件 größe_max", ["src/foo.py", "größe_max"]),
        ("@types/node7 --foo_bar @@@./-./-foo_baz", ["types/node7", "foo_bar", "foo_baz"]),
        ("...foo.bar .filter( .env.local", ["foo.bar", ".env.local"]),
        ("/compact src/lib/ src/lib/ a_b", ["/compact"]),
        ("src/lib2/ src/lib2", ["src/lib2", "src/lib2"]),
        ("x_" * 150 + " " + "./" * 300 + "a_bcde", []),
        ("aaaa." * 200 + "é", []),
    ],
)
def test_atoms(text: str, expected: list[str]) -> None:
    assert atoms(text) == expected


@pytest.mark.parametrize(
    ("atom", "path"), [("a/b.py", True), (r"C:\x\y.py", True), ("os.path", False)]
)
def test_is_path(atom: str, path: bool) -> None:
    assert is_path(atom) is path


def test_atoms_of_arguments_come_from_string_leaves_in_order() -> None:
    arguments: Json = {
        "b_key_name": ["one_two", {"x": "three.four"}],
        "n": 1,
        "a": "five_six",
        "z": None,
    }
    assert string_leaves(arguments) == ["one_two", "three.four", "five_six"]
    assert argument_atoms(arguments) == ["one_two", "three.four", "five_six"]
    assert argument_atoms("raw_text is kept") == ["raw_text"]


def test_count_atoms_joins_spellings() -> None:
    assert count_atoms("./a/b.py a/b.py; other_one") == {"a/b.py": 2, "other_one": 1}


def test_a_long_text_is_counted_in_pieces_of_whole_words() -> None:
    words = ["src/app.py", "x" * 7, "other_one\n", "ends_with_\\n"]
    text = " ".join(words * 60_000)
    assert count_atoms(text) == dict(Counter(atoms(text)))
    unbroken = "a_b/" * 600_000
    assert count_atoms(f"{unbroken} c_d/e.py") == {"c_d/e.py": 1}


_TEXT = st.text(alphabet=st.sampled_from("abXY01_-./\\@~: \n<中é"), max_size=80)


@given(_TEXT)
def test_atoms_are_tokens_of_the_text_and_atoms_themselves(text: str) -> None:
    found = atoms(text)
    assert sum(count_atoms(text).values()) == len(found)
    assert list(count_atoms(text)) == list(dict.fromkeys(found))
    for atom in found:
        assert atom in text
        assert MIN_ATOM_CHARS <= len(atom) <= MAX_ATOM_CHARS
        assert atoms(atom) == [atom]


@pytest.mark.parametrize(
    "hostile", ["./", "a_", "a/ ", "a.b", "-@", "aB1_./", "..", "\\n", "<", "x_" * 90 + " "]
)
def test_a_hostile_line_of_5_mb_is_read_in_linear_time(hostile: str) -> None:
    assert isinstance(atoms(hostile * (5_000_000 // len(hostile))), list)
