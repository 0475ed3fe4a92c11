"""The result: tables that keep their promises, the numbers that say so, and how they are written."""
