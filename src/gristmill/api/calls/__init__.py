"""A call as the routes see it, apart from any framework: who asks, what for, and what the answer is."""

from gristmill.api.calls.bodies import read_body, read_json
from gristmill.api.calls.call import Call, Reply, reply
from gristmill.api.calls.cursors import decode_cursor, encode_cursor
from gristmill.api.calls.operation import Operation, Parameter

__all__ = [
    "Call",
    "Operation",
    "Parameter",
    "Reply",
    "decode_cursor",
    "encode_cursor",
    "read_body",
    "read_json",
    "reply",
]
