"""The gRPC port of the shipped process, called by grpcio with the stubs of ``proto/``.

The folder cannot be called ``grpc``: apps lie beside it, and their folder is where a server looks for packages first.
"""
