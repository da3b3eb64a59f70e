"""``hwgen sweep``."""
