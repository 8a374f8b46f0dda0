"""Connect and gRPC-Web: the RPC services over plain HTTP."""
