"""Decisions about routed records; nothing here touches the world."""
