"""Native gRPC: a server on a port of its own, in the loop of everything else."""

import os

# Before gRPC is imported: it writes lines of its own to stderr, which are no JSON. What concerns a call, its caller is
# told.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
