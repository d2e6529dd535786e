"""Small models that run in this process, offline, from weights that a package ships."""

from gristmill.adapters.local_models.language import LiteLanguage
from gristmill.adapters.local_models.static_embedder import StaticEmbedder
from gristmill.adapters.local_models.tone import VaderTone

__all__ = ["LiteLanguage", "StaticEmbedder", "VaderTone"]
