"""The body of an answer, as Go's HTTP transport gives it to a provider: without its compression."""

import gzip
import zlib
from http.client import HTTPResponse


def text_of(response: HTTPResponse) -> str:
    """The text of the body.

    Raises:
        OSError: it is not compressed as the answer says (Go: ``gzip: invalid header``).
        http.client.HTTPException: it ends too early.
    """
    body = response.read()
    if (response.getheader("Content-Encoding") or "").lower() == "gzip":
        try:
            body = gzip.decompress(body)
        except (EOFError, zlib.error) as error:
            raise OSError(f"gzip: {error}") from error
    return body.decode("utf-8", "replace")
