"""`gristmill doctor`: measures and judges what this installation stands on, before anything is trusted to it."""
