"""The normal form, and what people write brought into it."""
