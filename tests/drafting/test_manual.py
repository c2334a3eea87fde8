"""Manuals are read page by page, and citations of them are looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.drafting.manual import Page, check_size, citation_fault, read_manual
from autocomp.errors import ConfigError

PAGES = (
    Page("m.pdf", 1, "The array has 16 rows\nand 16 columns. A move is pipe-\nlined."),
    Page("m.pdf", 2, "Each request brings 64 bytes."),
    Page("notes.md", 0, "The `scratchpad` has **four** banks."),
)


def pdf(*texts: str) -> bytes:
    """A PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(texts)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(texts):
        content = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return f"{body}{end}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n".encode()


@pytest.mark.parametrize(
    "citation",
    [
        "m.pdf p. 1: The array has 16 rows and 16 columns",
        "m.pdf: Each request brings 64 bytes",
        "notes.md: The scratchpad has four banks",
        "m.pdf p. 1: a move is pipelined",
    ],
)
def test_words_that_stand_there_are_found(citation: str) -> None:
    assert citation_fault(citation, PAGES) is None


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("m.pdf p. 1: Each request brings 64 bytes", "do not occur in m.pdf p. 1; they are on p. 2"),
        ("m.pdf: Each request brings 32 bytes", "do not occur in m.pdf"),
        ("k.pdf: Each request brings 64 bytes", "names 'k.pdf', and the manuals are m.pdf, notes.md"),
        ("m.pdf: the", "must be 8 to 200 characters"),
        ("m.pdf: " + "a" * 300, "must be 8 to 200 characters"),
        ("somewhere", "is not of the form"),
    ],
)
def test_other_words_are_refused(citation: str, expected: str) -> None:
    assert expected in str(citation_fault(citation, PAGES))


def test_a_manual_of_line_ends_is_read_once() -> None:
    text = "a-" + "\n" * 300_000 + "- The scratchpad has 256 KB."
    assert citation_fault("m.md: The scratchpad has 256 KB", (Page("m.md", 1, text),)) is None


def test_a_pdf_is_read_by_pages(tmp_path: Path) -> None:
    file = tmp_path / "m.pdf"
    file.write_bytes(pdf("The array has 16 rows.", "Each request brings 64 bytes."))
    pages = read_manual(file)
    assert [(page.number, page.text.strip()) for page in pages] == [
        (1, "The array has 16 rows."),
        (2, "Each request brings 64 bytes."),
    ]
    assert pages[1].name == "m.pdf p. 2"


def test_a_damaged_pdf_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "m.pdf"
    file.write_bytes(b"%PDF-1.4\nnothing")
    with pytest.raises(ConfigError, match=r"m\.pdf"):
        read_manual(file)


def test_html_is_read_without_its_scripts(tmp_path: Path) -> None:
    file = tmp_path / "m.html"
    file.write_text("<h1>Sizes</h1><script>alert(1)</script><p>16 rows &amp; columns</p>")
    (page,) = read_manual(file)
    assert page.text == "Sizes16 rows & columns"


def test_a_header_is_text(tmp_path: Path) -> None:
    file = tmp_path / "m.h"
    file.write_text("#define ROWS 16\n")
    assert read_manual(file) == (Page("m.h", 0, "#define ROWS 16\n"),)


def test_an_empty_manual_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "m.md"
    file.write_text(" \n")
    with pytest.raises(ConfigError, match="holds no text"):
        read_manual(file)


def test_manuals_that_are_too_long_are_refused() -> None:
    with pytest.raises(ConfigError, match="give the chapters"):
        check_size([Page("m.md", 0, "a" * 500_000)])
