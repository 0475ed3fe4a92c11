"""The command line: parse, call, print. One file for each command."""
