"""The loops of local search: cuts, growth, and the search inside blocks of classes."""
