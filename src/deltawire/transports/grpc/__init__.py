"""Native gRPC: a server on a port of its own, in the loop of everything else."""
