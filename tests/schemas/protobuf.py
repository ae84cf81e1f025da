"""Compiled protobuf definitions for tests, and the definitions of the tables."""

from __future__ import annotations

import asyncio
from functools import cache

from emulator.schemas.protobuf import descriptors
from emulator.schemas.protobuf.compiler import Compiler
from emulator.schemas.protobuf.descriptors import Root
from emulator.schemas.protobuf.schema import ProtobufSchema

PROTO3 = """
syntax = "proto3";
package shop;
enum Colour { NONE = 0; RED = 1; }
message Event {
  string id = 1;
  int32 i32 = 2;
  int64 i64 = 3;
  uint32 u32 = 4;
  uint64 u64 = 5;
  sint32 s32 = 6;
  sint64 s64 = 7;
  fixed32 f32 = 8;
  fixed64 f64 = 9;
  sfixed32 sf32 = 10;
  sfixed64 sf64 = 11;
  bool is_on = 12;
  float ratio = 13;
  double share = 14;
  bytes blob = 15;
  Kind kind = 16;
  Inner inner = 17;
  repeated string tags = 18;
  repeated int32 numbers = 19;
  map<string, int64> counts = 20;
  map<int32, Inner> by_number = 21;
  map<bool, string> by_flag = 22;
  oneof choice {
    string left = 23;
    int32 right = 24;
  }
  optional string note = 25;
  Event parent = 26;
  repeated Inner inners = 27;
  Colour colour = 28;
  string renamed = 29 [json_name = "other"];
  enum Kind { UNKNOWN = 0; NEW = 1; OLD = 7; }
  message Inner {
    string name = 1;
    Deep deep = 2;
    message Deep { int32 level = 1; }
  }
}
"""
PROTO2 = """
syntax = "proto2";
message Order {
  required string id = 1;
  optional int32 count = 2 [default = 5];
  repeated Line line = 3;
  optional State state = 4;
  optional group Extra = 5 { optional string text = 1; }
  enum State { OPEN = 1; CLOSED = 2; }
  message Line { required int64 price = 1; optional bytes raw = 2; }
}
"""
EDITION = """
edition = "2023";
message Reading {
  string sensor = 1 [features.field_presence = LEGACY_REQUIRED];
  repeated double values = 2;
  State state = 3;
  Reading next = 4 [features.message_encoding = DELIMITED];
  enum State { option features.enum_type = CLOSED; GOOD = 0; BAD = 1; }
}
"""


@cache
def root(definition: str) -> Root:
    return descriptors.of_text(compile_text(definition))


@cache
def compiled(definition: str) -> ProtobufSchema:
    return ProtobufSchema(root(definition))


@cache
def compile_text(definition: str) -> bytes:
    """Compile in a child process, as the service does."""
    compiler = Compiler()
    try:
        return asyncio.run(compiler.compile(definition))
    finally:
        compiler.close()
