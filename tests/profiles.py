"""How many examples Hypothesis tries: few in `make test`, and in `make test-slow` the profile `full`."""

from hypothesis import settings

settings.register_profile("quick", print_blob=True, deadline=None, max_examples=10)  # no test is about time
settings.register_profile("full", settings.get_profile("quick"), max_examples=400)


settings.load_profile("quick")


def few():
    """For a property of which one example takes long: a tenth, but at least three."""
    return settings(max_examples=max(3, settings.default.max_examples // 10))
