"""What simulated processes stand on: time and order, clocks, links, and the way to a store."""
