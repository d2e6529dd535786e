"""A group as a whole: how it is chosen, started, watched and stopped, in one process or in many."""
