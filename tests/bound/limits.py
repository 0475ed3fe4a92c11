"""Other limits for a while: rows or steps that the bound may take before it turns to something cheaper."""

from shoal.bound import estimates, lower_bound, terms


def set_limit(patch, name, value):
    """Replace a constant, or a function, wherever it is used."""
    users = [module for module in (lower_bound, terms, estimates) if hasattr(module, name)]
    assert users, name
    for module in users:
        patch.setattr(module, name, value)
