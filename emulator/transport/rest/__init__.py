"""The REST face: JSON over HTTP/1.1, mapped to the RPCs as `google.api.http` says (rest.md).

A request is routed to its RPC, becomes that RPC's request message, is answered by the service's
one handler, and the response message becomes JSON. No rule of Pub/Sub is here.
"""
