"""What the outside meets: the main process serves HTTP and gRPC beside the group that it watches."""
