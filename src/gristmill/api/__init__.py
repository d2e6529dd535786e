"""HTTP, gRPC and the web console over the services; they are handed in, and no rule of the domain lives here."""
