"""Random filters, in random spellings, against the plainest reading of what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

from hypothesis import assume, given
from hypothesis import strategies as st

from emulator.api.rpc import ErrorInfo
from emulator.engine.filters import compile_filter, parser
from emulator.engine.filters.expression import And, Equals, Expression, Has, HasPrefix, Not, Or
from emulator.engine.values.errors import InvalidArgument
from emulator.engine.values.limits import FILTER_BYTES
from tests.spec import spec

T = TypeVar("T")

# Few and similar keys and values, so that filters and attributes meet.
keys = st.sampled_from(["a", "A", "-9", "b_c", "NOT", "a.b", 'q"\\', "é", ""])
values = st.sampled_from(["", "x", "xy", "X", " x", "\n", '"', "\\n", "é", "e\u0301", "😀"])
attribute_maps = st.dictionaries(keys, values, max_size=9)

terms = st.one_of(
    st.builds(Has, keys), st.builds(Equals, keys, values), st.builds(HasPrefix, keys, values)
)


def _compounds(operands: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(operands, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, operands), st.builds(And, several), st.builds(Or, several))


# At the top two layers of NOT, AND and OR: left alone, most trees would be single terms.
expressions = terms | _compounds(_compounds(st.recursive(terms, _compounds, max_leaves=2)))


def holds(expression: Expression, attributes: Mapping[str, str]) -> bool:
    match expression:
        case Has(key):
            return key in attributes
        case Equals(key, value):
            return key in attributes and attributes[key] == value
        case HasPrefix(key, prefix):
            return key in attributes and attributes[key][: len(prefix)] == prefix
        case Not(operand):
            return not holds(operand, attributes)
        case And(operands):
            return all(holds(operand, attributes) for operand in operands)
        case Or(operands):
            return any(holds(operand, attributes) for operand in operands)


class Speller:
    """Writes expressions down, each time in another of the legal ways."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def spelt(self, expression: Expression) -> str:
        return self._joined([self._bare(expression)])

    def _bare(self, expression: Expression) -> str:
        """Without parentheses, unless by whim."""
        if self._pick([False] * 5 + [True]):
            return self._joined(["(", self._bare(expression), ")"])
        match expression:
            case Has(key):
                return self._joined(["attributes", ":", self._key(key)])
            case Equals(key, value):
                return self._comparison(key, "=", value)
            case HasPrefix(key, prefix):
                attribute = ["attributes", ".", self._key(key)]
                return self._joined(["hasPrefix", "(", *attribute, ",", self._string(prefix), ")"])
            case Not(Equals(key, value)) if self._pick([False, True]):
                return self._comparison(key, "!=", value)
            case Not(operand):
                return self._pick(["NOT ", "NOT\n", "-", "- "]) + self._operand(operand)
            case And(operands):
                return " AND ".join(self._operand(operand) for operand in operands)
            case Or(operands):
                return "\tOR ".join(self._operand(operand) for operand in operands)

    def _operand(self, expression: Expression) -> str:
        if isinstance(expression, And | Or):
            return self._joined(["(", self._bare(expression), ")"])
        return self._bare(expression)

    def _comparison(self, key: str, operator: str, value: str) -> str:
        return self._joined(["attributes", ".", self._key(key), operator, self._string(value)])

    def _key(self, key: str) -> str:
        may_be_bare = re.fullmatch("[A-Za-z0-9_-]+", key) is not None
        return key if may_be_bare and self._pick([True, True, False]) else self._string(key)

    def _string(self, value: str) -> str:
        return '"' + "".join(self._pick(self._spellings(character)) for character in value) + '"'

    def _spellings(self, character: str) -> list[str]:
        code = ord(character)
        spellings = [f"\\U{code:08x}"]
        if code < 0x10000:
            spellings.append(f"\\u{code:04X}")
        if code < 0x100:
            spellings += [f"\\x{code:02x}", f"\\{code:03o}"]
        if character == "\n":
            spellings.append("\\n")
        return [*spellings, "\\" + character if character in '"\\' else character]

    def _joined(self, tokens: list[str]) -> str:
        return "".join(self._space() + token for token in tokens) + self._space()

    def _space(self) -> str:
        return self._pick([""] * 6 + [" ", "\t", "\n", " \r\n"])

    def _pick(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)


@spec("FLT-10", "FLT-12", "FLT-16", "FLT-20", "FLT-21", "FLT-22")
@given(expressions, st.randoms(use_true_random=True), st.lists(attribute_maps, min_size=5))
def test_a_filter_means_what_it_says_in_every_spelling(
    expression: Expression, random: Random, messages: list[dict[str, str]]
) -> None:
    text = Speller(random).spelt(expression)
    assume(len(text.encode()) <= FILTER_BYTES)
    assert parser.parse(text) == expression
    compiled = compile_filter(text)
    assert compiled is not None
    for attributes in messages:
        assert compiled.matches(attributes) is holds(expression, attributes)


pieces = st.sampled_from(
    [
        "attributes", "hasPrefix", "AND", "OR", "NOT", "and", "k", ".", ":", "=", "!=", "!", ",",
        "(", ")", "-", " ", "\n", '"', "\\", '"v"', '"\\x41"', '"\\q"', "attributes:k",
        'attributes.k="v"', 'hasPrefix(attributes.k,"v")', " AND ", " OR ", "NOT ", "é", "[",
    ]
)  # fmt: skip


@spec("FLT-03", "ERR-18")
@given(st.text() | st.lists(pieces, max_size=30).map("".join))
def test_any_text_is_a_filter_or_refused_where_its_fault_is(text: str) -> None:
    assume(len(text.encode()) <= FILTER_BYTES)
    try:
        compiled = compile_filter(text)
    except InvalidArgument as refusal:
        info = ErrorInfo()
        [detail] = refusal.details
        assert detail.Unpack(info)
        line = text.split("\n", int(info.metadata["line"]) - 1)[-1]
        rest = line[int(info.metadata["column"]) - 1 :]
        token = info.metadata["token"]
        assert rest.startswith(token) if token else rest == ""
    else:
        assert compiled is None or compiled.matches({"k": "v"}) in (True, False)
