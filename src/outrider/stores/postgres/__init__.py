"""The frontier on PostgreSQL: for many workers on many machines."""
