"""Filters: which texts are taken, what they match, and how the others are refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from emulator.api import pubsub
from emulator.api.rpc import ErrorInfo
from emulator.engine.filters import compile_filter
from emulator.engine.values.errors import PubsubError
from tests.engine.story import invalid, refusal_of
from tests.spec import spec

Attributes = Mapping[str, str]


def matches(text: str, attributes: Attributes) -> bool:
    compiled = compile_filter(text)
    assert compiled is not None
    return compiled.matches(attributes)


def fault(text: str) -> tuple[int, int, str]:
    """Line, column and token for which `text` is refused, once its words have been checked."""
    with pytest.raises(PubsubError) as caught:
        compile_filter(text)
    info = ErrorInfo()
    [detail] = caught.value.details
    assert detail.Unpack(info)
    line, column, token = (info.metadata[key] for key in ("line", "column", "token"))
    assert refusal_of(lambda: compile_filter(text)) == invalid(
        "Invalid filter expression: failed to parse "
        f"(syntax error at line {line}, column {column}, token '{token}')."
    )
    return int(line), int(column), token


# --- what filters mean ---------------------------------------------------------------------------

MEANINGS = (
    "attributes:n",
    'attributes.n="a"',
    'attributes.n!="a"',
    'hasPrefix(attributes.n,"a")',
    "NOT attributes:n",
    'NOT hasPrefix(attributes.n,"a")',
)


@spec("FLT-05", "FLT-20", "FLT-21", "FLT-22")
@pytest.mark.parametrize(
    ("attributes", "verdicts"),
    [
        ({}, "FFTFTT"),
        ({"n": "a"}, "TTFTFF"),
        ({"n": "ab"}, "TFTTFF"),
        ({"n": "b"}, "TFTFFT"),
        ({"n": ""}, "TFTFFT"),
        ({"N": "a"}, "FFTFTT"),
        ({"n": "A"}, "TFTFFT"),
        ({"n": " a"}, "TFTFFT"),
        ({"m": "a", "n": "a"}, "TTFTFF"),
    ],
)
def test_a_term_looks_at_one_attribute(attributes: Attributes, verdicts: str) -> None:
    assert "".join("FT"[matches(text, attributes)] for text in MEANINGS) == verdicts


@spec("FLT-05")
def test_equal_looks_are_not_equality() -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    assert matches(f'attributes.n="{composed}"', {"n": composed})
    assert not matches(f'attributes.n="{composed}"', {"n": decomposed})
    assert not matches(f'attributes:"{composed}"', {decomposed: "x"})


COMBINATIONS = (
    "attributes:a AND attributes:b",
    "attributes:a OR attributes:b",
    "NOT attributes:a",
    "attributes:a AND NOT attributes:b",
    "NOT attributes:a OR attributes:b",
    "NOT (attributes:a OR attributes:b)",
    "NOT (attributes:a AND attributes:b)",
    "NOT (NOT attributes:a AND NOT attributes:b)",
)


@spec("FLT-10")
@pytest.mark.parametrize(
    ("keys", "verdicts"),
    [("ab", "TTFFTFFT"), ("a", "FTFTFFTT"), ("b", "FTTFTFTT"), ("", "FFTFTTTF")],
)
def test_terms_are_combined(keys: str, verdicts: str) -> None:
    attributes = dict.fromkeys(keys, "")
    assert "".join("FT"[matches(text, attributes)] for text in COMBINATIONS) == verdicts


@spec("FLT-10")
@pytest.mark.parametrize(
    ("operator", "expected"),
    [("AND", {"abc"}), ("OR", {"abc", "ab", "ac", "bc", "a", "b", "c"})],
)
def test_chains_may_be_long(operator: str, expected: set[str]) -> None:
    text = f" {operator} ".join(f"attributes:{key}" for key in "abc")
    kinds = ["abc", "ab", "ac", "bc", "a", "b", "c", ""]
    assert {keys for keys in kinds if matches(text, dict.fromkeys(keys, ""))} == expected


@spec("FLT-01")
def test_only_attributes_are_looked_at_and_left_as_they_are() -> None:
    message = pubsub.PubsubMessage(data=b"n", ordering_key="n", attributes={"a": "1"})
    before = message.SerializeToString()
    verdicts = "".join("FT"[matches(text, message.attributes)] for text in MEANINGS)
    assert verdicts == "FFTFTT"
    assert message.SerializeToString() == before


@spec("FLT-02")
@pytest.mark.parametrize("text", ["", " ", "\t", "\n", "\r\n", " \n\t " * 51])
def test_a_blank_filter_is_none(text: str) -> None:
    assert compile_filter(text) is None


def test_a_filter_keeps_its_text_as_given() -> None:
    compiled = compile_filter("  attributes : a ")
    assert compiled is not None
    assert compiled.text == "  attributes : a "
    assert compiled == compile_filter("  attributes : a ")
    assert repr(compiled) == "Filter(text='  attributes : a ')"


# --- the language --------------------------------------------------------------------------------

K_CONTROLS = 'line\nbreak "q" \\ A A'


@pytest.mark.parametrize(
    ("text", "taken", "left"),
    [
        pytest.param("attributes:domain", {"domain": ""}, {}, marks=spec("FLT-30")),
        pytest.param('attributes.name = "com"', {"name": "com"}, {}, marks=spec("FLT-31")),
        pytest.param('attributes.name != "com"', {}, {"name": "com"}, marks=spec("FLT-32")),
        pytest.param(
            'attributes."iana.org/language_tag" = "en"',
            {"iana.org/language_tag": "en"},
            {"iana": "en"},
            marks=spec("FLT-12", "FLT-33"),
        ),
        pytest.param(
            r'attributes:"\u307F\u3093\u306A"',
            {"みんな": ""},
            {r"\u307F\u3093\u306A": ""},
            marks=spec("FLT-34"),
        ),
        pytest.param(
            'hasPrefix(attributes.name, "co")',
            {"name": "company"},
            {"name": "org"},
            marks=spec("FLT-14", "FLT-35"),
        ),
        pytest.param(
            'NOT hasPrefix(attributes.name, "co")',
            {"name": "org"},
            {"name": "co"},
            marks=spec("FLT-36"),
        ),
        pytest.param(
            'attributes:a AND NOT attributes.name = "com"',
            {"a": "", "name": "net"},
            {"a": "", "name": "com"},
            marks=spec("FLT-37"),
        ),
        pytest.param(
            'attributes:a AND (attributes.name = "net" OR attributes.name = "org")',
            {"a": "", "name": "org"},
            {"name": "net"},
            marks=spec("FLT-10", "FLT-38"),
        ),
        pytest.param(
            'attributes.name = "com" AND -attributes:a',
            {"name": "com"},
            {"name": "com", "a": ""},
            marks=spec("FLT-39"),
        ),
        pytest.param(
            "NOT (attributes:a OR attributes:b)", {"c": ""}, {"b": ""}, marks=spec("FLT-40")
        ),
        pytest.param(
            "attributes:a AND attributes:b AND attributes:c",
            {"a": "", "b": "", "c": ""},
            {"a": "", "b": ""},
            marks=spec("FLT-41"),
        ),
        pytest.param("NOT NOT attributes:a", {"a": ""}, {}, marks=spec("FLT-42")),
        pytest.param("-(attributes:a)", {}, {"a": ""}, marks=spec("FLT-42")),
        pytest.param("((attributes:a))", {"a": ""}, {}, marks=spec("FLT-42")),
        pytest.param(
            r'attributes.k="line\nbreak \"q\" \\ \x41 \101"',
            {"k": K_CONTROLS},
            {"k": K_CONTROLS.replace("\n", "n")},
            marks=spec("FLT-43"),
        ),
        pytest.param(
            'attributes.ce-type="x" AND hasPrefix(attributes.ce-source, "baz/")',
            {"ce-type": "x", "ce-source": "baz/1"},
            {"ce-type": "x", "ce-source": "baz"},
            marks=spec("FLT-15", "FLT-44"),
        ),
        pytest.param('attributes.k = ""', {"k": ""}, {}, marks=spec("FLT-17", "FLT-45")),
        pytest.param('attributes . k = "v"', {"k": "v"}, {}, marks=spec("FLT-16", "FLT-45")),
        pytest.param("attributes:k_1-2", {"k_1-2": ""}, {"k_1": ""}, marks=spec("FLT-45")),
        pytest.param(
            " OR ".join(f'hasPrefix(attributes.k,"{prefix}")' for prefix in "abc"),
            {"k": "b1"},
            {"k": "d1"},
            marks=spec("FLT-15"),
        ),
        pytest.param('hasPrefix(attributes.k,"")', {"k": ""}, {}, marks=spec("FLT-17")),
        pytest.param('NOT hasPrefix(attributes.k,"")', {}, {"k": ""}, marks=spec("FLT-17")),
        # A key may begin with a digit or a hyphen, and look like a word of the language.
        ("attributes:-9", {"-9": ""}, {"9": ""}),
        ("attributes:9", {"9": ""}, {}),
        ('attributes.NOT = "x" AND attributes:attributes', {"NOT": "x", "attributes": ""}, {}),
        ('attributes."AND" = "x" OR attributes:"OR"', {"OR": ""}, {}),
        # A hyphen outside a key is a word of its own.
        ("--attributes:a", {"a": ""}, {}),
        ("attributes:a AND NOT-attributes:b AND-attributes:c", {"a": "", "b": ""}, {"a": ""}),
        ('-hasPrefix(attributes.k,"x")', {}, {"k": "x"}),
        # White space may stand anywhere between words, or nowhere if they stay apart.
        pytest.param(
            '\n(\tattributes\n.\tk\r\n=\n"v"\t)\n', {"k": "v"}, {"k": "w"}, marks=spec("FLT-16")
        ),
        pytest.param(
            'hasPrefix ( attributes . k , "v" ) AND attributes : "k"',
            {"k": "v"},
            {"k": "w"},
            marks=spec("FLT-16"),
        ),
        pytest.param(
            'attributes.k="v"AND(attributes:a)',
            {"k": "v", "a": ""},
            {"k": "v"},
            marks=spec("FLT-16"),
        ),
        pytest.param('attributes.k=" v "', {"k": " v "}, {"k": "v"}, marks=spec("FLT-05")),
        ('attributes.k="a\nb"', {"k": "a\nb"}, {"k": "ab"}),
    ],
)
def test_a_filter_is_taken(text: str, taken: Attributes, left: Attributes) -> None:
    assert matches(text, taken)
    assert not matches(text, left)


@spec("FLT-12")
@pytest.mark.parametrize(
    ("escape", "value"),
    [
        (r"\\", "\\"),
        (r"\"", '"'),
        (r"\'", "'"),
        (r"\a", "\a"),
        (r"\b", "\b"),
        (r"\f", "\f"),
        (r"\n", "\n"),
        (r"\r", "\r"),
        (r"\t", "\t"),
        (r"\v", "\v"),
        (r"\x41", "A"),
        (r"\x4a\x4A", "JJ"),
        (r"\xe9", "é"),
        (r"\101", "A"),
        (r"\000", "\0"),
        (r"\377", "ÿ"),
        (r"\1011", "A1"),
        (r"\u307F\u3093\u306a", "みんな"),
        (r"\u30411", "ぁ1"),
        (r"\ud7ff\ue000", "\ud7ff\ue000"),
        (r"\U0001F600", "😀"),
        (r"\U0010ffff", "\U0010ffff"),
        (r"\\n", "\\n"),
        (r"\\\"\\", '\\"\\'),
    ],
)
def test_strings_have_escapes(escape: str, value: str) -> None:
    assert matches(f'attributes.k="{escape}"', {"k": value})
    assert matches(f'attributes:"k{escape}"', {"k" + value: ""})
    assert matches(f'hasPrefix(attributes.k,"<{escape}>")', {"k": f"<{value}>..."})


# --- refusals ------------------------------------------------------------------------------------


@spec("FLT-03", "ERR-18")
def test_a_refusal_says_where_and_why() -> None:
    with pytest.raises(PubsubError) as caught:
        compile_filter('attributes.color == "red"')
    assert repr(caught.value) == (
        '<INVALID_ARGUMENT "Invalid filter expression: failed to parse (syntax error at line 1, '
        "column 19, token '=').\">"
    )
    [detail] = caught.value.details
    assert detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo"
    info = ErrorInfo()
    detail.Unpack(info)
    assert (info.reason, info.domain) == (
        "FILTER_EXPRESSION_FAILED_TO_PARSE",
        "pubsub.googleapis.com",
    )
    assert dict(info.metadata) == {
        "line": "1",
        "column": "19",
        "token": "=",
        "message": "syntax error",
    }


@pytest.mark.parametrize(
    ("text", "column", "token"),
    [
        pytest.param('"com" = attributes.name', 1, '"com"', marks=spec("FLT-13", "FLT-60")),
        pytest.param(
            "attributes.name = attributes.website", 19, "attributes", marks=spec("FLT-13", "FLT-61")
        ),
        pytest.param(r"attributes:\u307F", 12, "\\", marks=spec("FLT-12", "FLT-62")),
        pytest.param(
            'attributes:a AND attributes.n = "net" OR attributes.n = "org"',
            39,
            "OR",
            marks=spec("FLT-10", "FLT-63"),
        ),
        pytest.param(
            "attributes:a OR attributes:b AND attributes:c", 30, "AND", marks=spec("FLT-10")
        ),
        pytest.param(
            'attributes.name = "com" AND ("net" OR "org")',
            30,
            '"net"',
            marks=spec("FLT-13", "FLT-64"),
        ),
        pytest.param("attributes:a and attributes:b", 14, "and", marks=spec("FLT-11", "FLT-65")),
        pytest.param("attributes:a or attributes:b", 14, "or", marks=spec("FLT-11")),
        pytest.param("not attributes:a", 1, "not", marks=spec("FLT-11", "FLT-65")),
        pytest.param('attributes.color == "red"', 19, "=", marks=spec("FLT-03", "FLT-66")),
        pytest.param('attributes["k"] = "v"', 11, "[", marks=spec("FLT-15", "FLT-67")),
        pytest.param("attributes.name = com", 19, "com", marks=spec("FLT-68")),
        pytest.param("attributes.n = 5", 16, "5", marks=spec("FLT-68")),
        pytest.param('attributes.iana.org = "x"', 16, ".", marks=spec("FLT-12", "FLT-69")),
        pytest.param("attributes", 11, "", marks=spec("FLT-70")),
        pytest.param("attributes.name", 16, "", marks=spec("FLT-70")),
        pytest.param("attributes.name =", 18, "", marks=spec("FLT-70")),
        pytest.param('data = "x"', 1, "data", marks=spec("FLT-01", "FLT-71")),
        pytest.param('ordering_key:"x"', 1, "ordering_key", marks=spec("FLT-01", "FLT-71")),
        pytest.param("message.attributes:a", 1, "message", marks=spec("FLT-71")),
        pytest.param('hasSuffix(attributes.a,"x")', 1, "hasSuffix", marks=spec("FLT-14", "FLT-72")),
        pytest.param('hasPrefix(attributes:a,"x")', 21, ":", marks=spec("FLT-72")),
        pytest.param('hasPrefix("x",attributes.a)', 11, '"x"', marks=spec("FLT-72")),
        pytest.param("hasPrefix(attributes.a)", 23, ")", marks=spec("FLT-72")),
        pytest.param('hasPrefix(attributes.a,"x"', 27, "", marks=spec("FLT-72")),
        pytest.param("(attributes:a", 14, "", marks=spec("FLT-73")),
        pytest.param("attributes:a)", 13, ")", marks=spec("FLT-73")),
        pytest.param("()", 2, ")", marks=spec("FLT-73")),
        pytest.param('attributes.k = "abc', 16, '"abc', marks=spec("FLT-74")),
        pytest.param(r'attributes.k = "\q"', 16, r'"\q"', marks=spec("FLT-74")),
        pytest.param('attributes.n > "a"', 14, ">", marks=spec("FLT-14", "FLT-75")),
        pytest.param('attributes.n IN ("a")', 14, "IN", marks=spec("FLT-14", "FLT-75")),
        pytest.param("attributes:a && attributes:b", 14, "&", marks=spec("FLT-75")),
        pytest.param('attributes.n =~ "a"', 15, "~", marks=spec("FLT-14")),
        pytest.param("attributes.n = 'a'", 16, "'", marks=spec("FLT-16")),
        pytest.param("attributes:a attributes:b", 14, "attributes", marks=spec("FLT-16")),
        pytest.param("attributes:a -attributes:b", 14, "-", marks=spec("FLT-16")),
        pytest.param("attributes:a # why", 14, "#", marks=spec("FLT-16")),
        pytest.param("attributes:a // why", 14, "/", marks=spec("FLT-16")),
        pytest.param("attributes:a\u00a0", 13, "\u00a0", marks=spec("FLT-16")),
        pytest.param('HasPrefix(attributes.a,"x")', 1, "HasPrefix", marks=spec("FLT-17")),
        pytest.param("Attributes:a", 1, "Attributes", marks=spec("FLT-17")),
        pytest.param('hasPrefix(attributes.a,"x") = "x"', 29, "=", marks=spec("FLT-14")),
        pytest.param("attributes:a AND", 17, "", marks=spec("FLT-13")),
        pytest.param("AND attributes:a", 1, "AND", marks=spec("FLT-13")),
        pytest.param("attributes:a AND OR attributes:b", 18, "OR", marks=spec("FLT-13")),
        pytest.param("attributes:a NOT", 14, "NOT", marks=spec("FLT-13")),
        ("NOT", 4, ""),
        ("NOTattributes:a", 1, "NOTattributes"),
        ("attributes-a:a", 11, "-"),
        ("attributes:", 12, ""),
        ('attributes:a = "x"', 14, "="),
        ('attributes.n ! = "x"', 14, "!"),
        ("attributes:ключ", 12, "к"),
        ("attributes:!=", 12, "!="),
        ("attributes.(", 12, "("),
        # The end is after all white space.
        ("attributes.name =  ", 20, ""),
        # The column counts characters, and the first fault is the one that is reported.
        ('attributes:"みんな" ? "\\q', 18, "?"),
    ],
)
def test_a_filter_is_refused(text: str, column: int, token: str) -> None:
    assert fault(text) == (1, column, token)


@spec("FLT-74", "FLT-12")
@pytest.mark.parametrize(
    "string",
    [
        '"',
        '"abc\\',
        '"abc\\"',
        r'"\q"',
        r'"\A"',
        r'"\x4"',
        r'"\x4g"',
        r'"\X41"',
        r'"\1"',
        r'"\12"',
        r'"\189"',
        r'"\400"',
        r'"\u307"',
        r'"\u307 F"',
        r'"\ud800"',
        r'"\uDFFF"',
        r'"\U0001F60"',
        r'"\U0000d800"',
        r'"\U00110000"',
        r'"\U01000041"',
        r'"fine \n then \z not"',
        '"\\\n"',
    ],
)
def test_a_bad_string_is_named_whole(string: str) -> None:
    assert fault(f"attributes.k={string}") == (1, 14, string)
    assert fault(f"attributes:{string}") == (1, 12, string)


@spec("FLT-03", "FLT-16")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("attributes:a\nAND attributes.b", (2, 17, "")),
        ('attributes:a AND\n  attributes.k == "x"', (2, 17, "=")),
        ("\n\nattributes:a\n)", (4, 1, ")")),
        ("attributes:a\r\n)", (2, 1, ")")),
        ("attributes.k =\n", (2, 1, "")),
        ('attributes.k = "a\nb" c', (2, 4, "c")),
    ],
)
def test_lines_are_counted(text: str, place: tuple[int, int, str]) -> None:
    assert fault(text) == place


@spec("FLT-01", "FLT-18", "FLT-76", "ERR-19")
@pytest.mark.parametrize("filling", ["a", "é", "みん", "😀"])
def test_a_filter_may_have_256_bytes(filling: str) -> None:
    value = filling * (240 // len(filling.encode()))
    text = f'attributes:"{value}"'
    longest = text + " " * (256 - len(text.encode()))
    assert matches(longest, {value: ""})
    assert refusal_of(lambda: compile_filter(longest + " ")) == invalid(
        "The value for filter_size is too large. You passed 257 in the request, but the maximum "
        "value is 256."
    )


@spec("FLT-76", "FLT-18")
@pytest.mark.parametrize("text", [" " * 257, "?" * 257, "é" * 129])
def test_a_filter_that_is_too_long_is_not_read(text: str) -> None:
    refusal = refusal_of(lambda: compile_filter(text))
    assert refusal is not None
    assert "filter_size is too large" in refusal.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-" * 244 + "attributes:a", True),
        ("-" * 243 + "attributes:a", False),
        ("NOT " * 61 + "attributes:a", False),
        ("(" * 122 + "attributes:a" + ")" * 122, True),
        ("-(" * 81 + "attributes:a" + ")" * 81, False),
        ("(-attributes:a OR " * 12 + "attributes:a" + ")" * 12, True),
    ],
)
def test_the_deepest_filter_is_taken(text: str, expected: bool) -> None:
    assert matches(text, {"a": ""}) is expected


def test_the_deepest_mistakes_are_refused() -> None:
    assert fault("-" * 256) == (1, 257, "")
    assert fault("(" * 256) == (1, 257, "")
    assert fault("NOT " * 64) == (1, 257, "")
