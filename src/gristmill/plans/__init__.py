"""What authors write: tasks, plans and flows, and the compiler that turns them into one checked graph."""
