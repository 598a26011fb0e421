"""Property tests are not judged by the clock: other work shares the machine they run on."""

from hypothesis import settings

settings.register_profile("without-deadline", deadline=None)
settings.load_profile("without-deadline")
