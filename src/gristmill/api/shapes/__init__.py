"""Shapes of requests and answers that belong to single operations; the document of the API names them."""
