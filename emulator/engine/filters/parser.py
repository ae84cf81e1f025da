"""The grammar of filters, one function for each of its rules (FLT-10..16).

    filter  = expr
    expr    = unary { "AND" unary } | unary { "OR" unary }
    unary   = { "NOT" | "-" } primary
    primary = "(" expr ")" | has | compare | prefix

Only parentheses make the functions call themselves, three deep for each pair; a filter's 256 bytes
have room for 122 pairs, far from Python's limit.
"""

from __future__ import annotations

from emulator.engine.filters.expression import And, Equals, Expression, Has, HasPrefix, Not, Or
from emulator.engine.filters.lexer import Kind, tokens, unquoted
from emulator.engine.values import errors
from emulator.engine.values.errors import InvalidArgument

_END = ""


def parse(text: str) -> Expression:
    """Return what `text` says; raise ERR-18 at the first token that cannot stand where it does."""
    parser = _Parser(text)
    expression = parser.expression()
    parser.expect(_END)
    return expression


class _Parser:
    """A text and its next token. No string and no unknown character is spelt like a mark or a
    keyword, and keys are taken by `_key` alone: hence a token's text says which one it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = next(self._tokens)

    def expression(self) -> Expression:
        operands = [self._unary()]
        operator = self._next.text
        if operator not in ("AND", "OR"):
            return operands[0]
        # The other operator is left for the caller, who does not expect it (FLT-10).
        while self._accept(operator):
            operands.append(self._unary())
        return And(tuple(operands)) if operator == "AND" else Or(tuple(operands))

    def _unary(self) -> Expression:
        negations = 0
        while self._accept("NOT") or self._accept("-"):
            negations += 1
        expression = self._primary()
        for _ in range(negations):
            expression = Not(expression)
        return expression

    def _primary(self) -> Expression:
        if self._accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self._accept("hasPrefix"):
            return self._has_prefix()
        self.expect("attributes")
        if self._accept(":"):
            return Has(self._key())
        self.expect(".")
        return self._comparison()

    def _has_prefix(self) -> HasPrefix:
        self.expect("(")
        self.expect("attributes")
        self.expect(".")
        key = self._key()
        self.expect(",")
        prefix = self._string()
        self.expect(")")
        return HasPrefix(key, prefix)

    def _comparison(self) -> Expression:
        key = self._key()
        if self._accept("="):
            return Equals(key, self._string())
        self.expect("!=")
        return Not(Equals(key, self._string()))

    def _key(self) -> str:
        return self._take() if self._next.kind is Kind.WORD else self._string()

    def _string(self) -> str:
        if self._next.kind is not Kind.STRING:
            raise self._refusal()
        return unquoted(self._take())

    def expect(self, spelling: str) -> None:
        if not self._accept(spelling):
            raise self._refusal()

    def _accept(self, spelling: str) -> bool:
        """Take the next token if it is spelt so."""
        if self._next.text != spelling:
            return False
        self._take()
        return True

    def _take(self) -> str:
        taken = self._next.text
        # After the end comes the end again.
        self._next = next(self._tokens, self._next)
        return taken

    def _refusal(self) -> InvalidArgument:
        """The next token is the offending one: it is named as it is spelt, the end as nothing.

        Columns count characters (FLT-03); the end is where the text ends, white space included.
        """
        line = self._text.count("\n", 0, self._next.offset) + 1
        column = self._next.offset - self._text.rfind("\n", 0, self._next.offset)
        return errors.bad_filter(line, column, self._next.text)
