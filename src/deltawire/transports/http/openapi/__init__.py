"""The OpenAPI document (3.1), made from the functions' own schemas."""
