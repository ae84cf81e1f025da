"""The Pub/Sub v1 interface: message classes, enums and service descriptors in a private pool.

| module | holds |
|---|---|
| `pubsub`, `schema` | google/pubsub/v1 |
| `iam` | google/iam/v1 and the condition type Expr |
| `rpc` | google.rpc: Status, Code and the error details |
| `health` | grpc/health/v1 |
| `http` | google.api.http: the REST mapping that methods carry |
| `wkt` | google/protobuf: Timestamp, Duration, FieldMask, Empty, Struct, Any |
| `pool` | the pool itself: look up messages, enums and services by full name |

Modules that say so in their first line are written by `scripts/generate_api.py`.
"""
