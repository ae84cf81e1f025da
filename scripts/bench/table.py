"""A table of strings, drawn for the terminal or for Markdown."""

from collections.abc import Sequence


def as_text(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Draw columns padded to their widest cell; the first is aligned left, numbers right."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(_padded(cells, widths) for cells in (head, rule, *lines))


def as_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Draw a Markdown table."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others)).rstrip()
