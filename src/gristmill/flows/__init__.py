"""The flows that Gristmill ships. Business rules live here and in the data beside them, never in framework rooms."""
