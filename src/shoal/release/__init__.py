"""The result: tables that keep their promises, the numbers that show it, and how they are written."""
