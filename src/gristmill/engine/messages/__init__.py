"""Record routing: takes envelopes in, gives each to the plans that its type is for, and comes back to what failed."""
