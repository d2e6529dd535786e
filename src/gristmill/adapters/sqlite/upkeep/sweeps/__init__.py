"""What is let go of, one kind a file. A sweep looks without a turn, then deletes what it found in a short one."""
