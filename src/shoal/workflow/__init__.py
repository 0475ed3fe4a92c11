"""From a table and a recipe to a release, a comparison or an extension."""
