"""Models: `Model.stream(request)` and the providers behind it."""
