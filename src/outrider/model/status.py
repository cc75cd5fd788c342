"""What does a status say? Its phrase by RFC 9110, whichever Python runs: 3.13 has other names than those before."""

from http import HTTPStatus
from typing import Final

PHRASES: Final[dict[int, str]] = {
    **{status.value: status.phrase for status in HTTPStatus},
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
