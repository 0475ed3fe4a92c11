"""A lower bound of the loss: what no k-anonymous release of a table can go below."""
