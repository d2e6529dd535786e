"""Describes the API as an OpenAPI 3.1 document, from the very operations that are routed."""

from gristmill.api.describe.document import describe, render

__all__ = ["describe", "render"]
