"""Avro definitions with data that fits them, in both encodings, and with data that does not."""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """`datum` is what libraries for Avro encode, `text` the same in Avro's JSON."""

    definition: Any
    datum: Any
    text: str


def record(*types: Any, name: str = "R", **more: Any) -> dict[str, Any]:
    """A record of fields `f0`, `f1`... of the given types."""
    fields = [{"name": f"f{number}", "type": each} for number, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **more}


def enum(*symbols: str, name: str = "E", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


OPTIONAL = ["null", "string"]
NODE = record("long", ["null", "Node"], name="Node")
SPACED = enum("A", "B", name="E", namespace="com.example")
INNER = record("int", name="Inner", namespace="shop.events")
#: The schema of the service's own documentation, and its example with an integer for a double.
STATE = {
    "type": "record",
    "name": "State",
    "namespace": "utilities",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "post_abbr", "type": "string"},
    ],
}
PRICED = record("string", "double", "float")

VALID = [
    Row("null", None, "null"),
    Row("boolean", True, "true"),
    Row("boolean", False, "false"),
    Row("int", 0, "0"),
    Row("int", -1, "-1"),
    Row("int", 2**31 - 1, "2147483647"),
    Row("int", -(2**31), "-2147483648"),
    Row("long", 2**31, "2147483648"),
    Row("long", 2**63 - 1, "9223372036854775807"),
    Row("long", -(2**63), "-9223372036854775808"),
    Row("float", 1.5, "1.5"),
    Row("float", 3.0, "3"),
    Row("double", -0.25, "-0.25"),
    Row("double", 1e300, "1e300"),
    Row("double", 100.0, "100"),
    Row("double", 0.0, "-0.0"),
    Row("bytes", b"", '""'),
    Row("bytes", b"abc", '"abc"'),
    Row("bytes", b"\xff\x00", '"\\u00ff\\u0000"'),
    Row("bytes", b"\xe4", '"ä"'),
    Row("string", "", '""'),
    Row("string", "grüße", '"grüße"'),
    Row("string", "\U0001f600", '"\\ud83d\\ude00"'),
    Row("string", "a" * 200, '"' + "a" * 200 + '"'),
    Row("string", "NaN", ' \n"NaN"\t'),
    Row(fixed(0), b"", '""'),
    Row(fixed(4), b"\x00\x01\xfe\xff", '"\\u0000\\u0001\\u00fe\\u00ff"'),
    Row(enum("A"), "A", '"A"'),
    Row(enum("A", "B", "C"), "C", '"C"'),
    Row(enum("A", "B", default="A"), "B", '"B"'),
    Row(array("int"), [], "[]"),
    Row(array("int"), [1, 2, 3], "[1, 2, 3]"),
    Row(array("null"), [None, None], "[null, null]"),
    Row(array(array("string")), [["a"], []], '[["a"], []]'),
    Row(array(OPTIONAL), [None, "x"], '[null, {"string": "x"}]'),
    Row(map_of("int"), {}, "{}"),
    Row(map_of("int"), {"a": 1, "": 2}, '{"a": 1, "": 2}'),
    Row(map_of(map_of("boolean")), {"a": {"b": True}}, '{"a": {"b": true}}'),
    Row(map_of(OPTIONAL), {"ü": None}, '{"ü": null}'),
    Row(OPTIONAL, None, "null"),
    Row(OPTIONAL, "x", '{"string": "x"}'),
    Row(["string", "null"], "x", '{"string": "x"}'),
    Row(["null", "long"], 5, '{"long": 5}'),
    Row(["null", "double"], 1.0, '{"double": 1}'),
    Row(["null", "bytes"], b"\xff", '{"bytes": "\\u00ff"}'),
    Row(["null", "boolean"], True, '{"boolean": true}'),
    Row(["null", array("int")], [1], '{"array": [1]}'),
    Row(["null", map_of("int")], {"a": 1}, '{"map": {"a": 1}}'),
    Row(["null", SPACED], "B", '{"com.example.E": "B"}'),
    Row(["null", fixed(2, namespace="x.y")], b"ab", '{"x.y.F": "ab"}'),
    Row(["null", INNER], {"f0": 1}, '{"shop.events.Inner": {"f0": 1}}'),
    Row(["null", record("int")], {"f0": 1}, '{"R": {"f0": 1}}'),
    Row([record("int", name="X"), record("int", "int", name="Y")], {"f0": 1, "f1": 2},
        '{"Y": {"f0": 1, "f1": 2}}'),
    Row(record(), {}, "{}"),
    Row(record("int", "string"), {"f0": 1, "f1": "a"}, '{"f1": "a", "f0": 1}'),
    Row(record(OPTIONAL), {"f0": None}, '{"f0": null}'),
    Row(record(OPTIONAL), {"f0": "a"}, '{"f0": {"string": "a"}}'),
    Row(record(INNER, "shop.events.Inner"), {"f0": {"f0": 1}, "f1": {"f0": 2}},
        '{"f0": {"f0": 1}, "f1": {"f0": 2}}'),
    Row(record("int"), {"f0": 1}, '{"f0": 1, "more": [{}], "a": null}'),
    Row(record({"type": "string"}, "int"), {"f0": "a", "f1": 1},
        '{"f0": "a", "f1": 1}'),
    Row(NODE, {"f0": 1, "f1": None}, '{"f0": 1, "f1": null}'),
    Row(NODE, {"f0": 1, "f1": {"f0": 2, "f1": None}},
        '{"f0": 1, "f1": {"Node": {"f0": 2, "f1": null}}}'),
    Row(STATE, {"name": "Alaska", "post_abbr": "AK"}, '{"name": "Alaska", "post_abbr": "AK"}'),
    Row(PRICED, {"f0": "a", "f1": 5.0, "f2": 2.0}, '{"f0": "a", "f1": 5, "f2": 2}'),
]  # fmt: skip

#: Definition, text, and a part of what is said about it.
INVALID_JSON: list[tuple[Any, str, str]] = [
    ("null", "0", "expected null"),
    ("null", "", "not JSON"),
    ("boolean", "1", "expected boolean"),
    ("boolean", '"true"', "expected boolean"),
    ("boolean", "null", "expected boolean"),
    ("int", "true", "expected number_integer"),
    ("int", "1.0", "expected number_integer"),
    ("int", "1e2", "expected number_integer"),
    ("int", '"1"', "expected number_integer"),
    ("int", "2147483648", "out of range"),
    ("int", "-2147483649", "out of range"),
    ("long", "100.5", "expected number_integer"),
    ("long", '"1"', "expected number_integer"),
    ("long", "9223372036854775808", "out of range"),
    ("long", "-9223372036854775809", "out of range"),
    ("long", "1" * 5000, "not JSON"),
    ("float", '"1.5"', "expected number_float"),
    ("double", '"1"', "expected number_float"),
    ("double", "true", "expected number_float"),
    ("double", "NaN", "NaN"),
    ("double", "Infinity", "Infinity"),
    ("double", "-Infinity", "Infinity"),
    ("double", '"NaN"', "expected number_float"),
    ("double", "1e400", "out of range"),
    ("double", "1" * 400, "out of range"),
    ("bytes", "1", "expected string"),
    ("bytes", "[1]", "expected string"),
    ("bytes", '"\\u0100"', "U+00FF"),
    ("bytes", '"€"', "U+00FF"),
    ("string", "1", "expected string"),
    ("string", "null", "expected string"),
    ("string", '"\\ud800"', "half a character"),
    ("string", '"a" "b"', "not JSON"),
    ("string", '"a"x', "not JSON"),
    ("string", "'a'", "not JSON"),
    ("string", '"a', "not JSON"),
    ("string", "\ufeff\"a\"", "not JSON"),
    (fixed(2), '"a"', "has 2 bytes"),
    (fixed(2), '"abc"', "has 2 bytes"),
    (fixed(2), '"aĀ"', "U+00FF"),
    (enum("A"), '"B"', "Invalid enum index without default value: E"),
    (enum("A", default="A"), '"B"', "Invalid enum index"),
    (enum("A"), "0", "expected string"),
    (SPACED, '"a"', "Invalid enum index without default value: com.example.E"),
    (array("int"), "{}", "expected array"),
    (array("int"), "[1, null]", "expected number_integer"),
    (array("int"), '[1, "2"]', "expected number_integer"),
    (array("int"), "[1,]", "not JSON"),
    (map_of("int"), "[]", "expected object"),
    (map_of("int"), '{"a": "1"}', "expected number_integer"),
    (map_of("int"), '{"a": 1, "a": 2}', "occurs twice"),
    (map_of("int"), '{"\\udc00": 1}', "half a character"),
    (OPTIONAL, '"x"', "name of its branch"),
    (OPTIONAL, '{"null": null}', "no branch"),
    (OPTIONAL, '{"int": 1}', "no branch"),
    (OPTIONAL, '{"string": "x", "null": null}', "name of its branch"),
    (OPTIONAL, "{}", "name of its branch"),
    (OPTIONAL, '{"string": null}', "expected string"),
    (["string", "long"], "null", "without a branch null"),
    (["null", SPACED], '{"E": "A"}', "no branch"),
    (["null", INNER], '{"Inner": {"f0": 1}}', "no branch"),
    (["null", INNER], '{"f0": 1}', "no branch"),
    (record("int"), "{}", "Field was not found in JSON object: f0"),
    (record("int"), "[]", "expected object"),
    (record("int"), "null", "expected object"),
    (record("int"), '{"f0": null}', "expected number_integer"),
    (record("int"), '{"f0": 1} {}', "not JSON"),
    (record("int"), '{"f0": 1, "f0": 1}', "occurs twice"),
    (record("int"), '{"f0": 1, "x": 1, "x": 1}', "occurs twice"),
    (record("int"), '{"f0": NaN}', "NaN"),
    (record("int"), '{"f0": 1, "more": NaN}', "NaN"),
    (record(OPTIONAL), "{}", "Field was not found in JSON object: f0"),
    ({"type": "record", "name": "R", "fields": [{"name": "d", "type": "int", "default": 1}]}, "{}",
     "Field was not found in JSON object: d"),
    (NODE, '{"f0": 1, "f1": {"f0": 2, "f1": null}}', "name of its branch"),
    (STATE, '{"name": "Alaska"}', "Field was not found in JSON object: post_abbr"),
    (PRICED, '{"f0": "a", "f1": "5", "f2": 2}', "expected number_float"),
    ("string", "[" * 100_000, "not JSON"),
    (NODE, '{"f0": 1, "f1": {"Node": ' * 210 + "1" + "}}" * 210, "Nested more than"),
]  # fmt: skip

#: Definition, bytes in hexadecimal, and a part of what is said about them.
INVALID_BINARY: list[tuple[Any, str, str]] = [
    ("null", "00", "Too much data"),
    ("boolean", "", "Unexpected end"),
    ("boolean", "02", "boolean"),
    ("boolean", "ff", "boolean"),
    ("boolean", "0101", "Too much data"),
    ("int", "", "Unexpected end"),
    ("int", "80", "Unexpected end"),
    ("int", "ffffffff1f", "32 bits"),
    ("int", "8080808010", "32 bits"),
    ("int", "feffffffffffffffff01", "32 bits"),
    ("int", "0000", "Too much data"),
    ("long", "", "Unexpected end"),
    ("long", "ffff", "Unexpected end"),
    ("long", "ffffffffffffffffff02", "64 bits"),
    ("long", "ffffffffffffffffffff01", "64 bits"),
    ("long", "80808080808080808080808000", "64 bits"),
    ("long", "0200", "Too much data"),
    ("float", "000000", "Unexpected end"),
    ("float", "0000000000", "Too much data"),
    ("double", "00000000000000", "Unexpected end"),
    ("double", "000000000000000000", "Too much data"),
    ("bytes", "", "Unexpected end"),
    ("bytes", "04ff", "Unexpected end"),
    ("bytes", "01", "below 0"),
    ("bytes", "ffffffffffffffffff01", "below 0"),
    ("bytes", "feffffffffffffffff01", "Unexpected end"),
    ("bytes", "02ffff", "Too much data"),
    ("string", "", "Unexpected end"),
    ("string", "0461", "Unexpected end"),
    ("string", "02ff", "UTF-8"),
    ("string", "04c3", "Unexpected end"),
    ("string", "06eda080", "UTF-8"),
    ("string", "04c328", "UTF-8"),
    ("string", "03", "below 0"),
    ("string", "026161", "Too much data"),
    (fixed(2), "61", "Unexpected end"),
    (fixed(2), "616161", "Too much data"),
    (fixed(0), "00", "Too much data"),
    (enum("A", "B"), "", "Unexpected end"),
    (enum("A", "B"), "04", "Invalid enum index without default value: E"),
    (enum("A", "B"), "01", "Invalid enum index"),
    (enum("A", "B", default="A"), "04", "Invalid enum index"),
    (enum("A", "B"), "0000", "Too much data"),
    (array("int"), "", "Unexpected end"),
    (array("int"), "02", "Unexpected end"),
    (array("int"), "0202", "Unexpected end"),
    (array("int"), "04020400ff", "Too much data"),
    (array("int"), "010202", "Unexpected end"),
    (array("string"), "0202ff00", "UTF-8"),
    (array("null"), "feffffffffffffffff01", "Unexpected end"),
    (array("int"), "feffffffffffffffff0102", "Unexpected end"),
    (map_of("int"), "", "Unexpected end"),
    (map_of("int"), "020261", "Unexpected end"),
    (map_of("int"), "0202ff0200", "UTF-8"),
    (map_of("int"), "0000", "Too much data"),
    (map_of("boolean"), "0202610200", "boolean"),
    (OPTIONAL, "", "Unexpected end"),
    (OPTIONAL, "04", "no such branch"),
    (OPTIONAL, "01", "no such branch"),
    (OPTIONAL, "02", "Unexpected end"),
    (OPTIONAL, "0202ff", "UTF-8"),
    (OPTIONAL, "0000", "Too much data"),
    (["null", SPACED], "0204", "Invalid enum index without default value: com.example.E"),
    (record("int", "string"), "", "Unexpected end"),
    (record("int", "string"), "02", "Unexpected end"),
    (record("int", "string"), "02026100", "Too much data"),
    (record("int", "string"), "7b2266302231 7d", "Unexpected end"),
    (record(INNER, "boolean"), "0204", "boolean"),
    (record(), "00", "Too much data"),
    (NODE, "0202", "Unexpected end"),
    (NODE, "02020204", "no such branch"),
    (NODE, "0202" * 300 + "0200", "Nested more than"),
    (NODE, "0202" * 100_000 + "0200", "Nested more than"),
    (record("R", name="R"), "", "Nested more than"),
    (STATE, "0c416c61736b61", "Unexpected end"),
    (STATE, "0c416c61736b6104414b21", "Too much data"),
]
