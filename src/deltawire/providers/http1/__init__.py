"""HTTP/1.1 as a client speaks it (RFC 9112), as much of it as asking a provider takes: one request at a time on a
connection of a pool, and the body of its reply as it arrives.
"""
