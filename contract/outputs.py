"""Names of the stack's outputs that more than one room spells."""

from typing import Final

UPLOAD_MINUTES_OUTPUT: Final = "profilesInBlobAfterMinutes"
"""How old a profile is, at most, when it reaches the bucket, where a stack file shortens it
(``storage.lossWindow``); without it, the usual."""
