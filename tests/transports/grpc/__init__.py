"""The gRPC port of the shipped process, called by grpcio with the stubs of ``proto/``."""
