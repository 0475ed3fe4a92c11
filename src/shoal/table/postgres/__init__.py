"""Tables in PostgreSQL databases, through ADBC: a driver that hands over Arrow tables."""
