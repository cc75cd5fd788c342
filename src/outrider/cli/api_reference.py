"""The API told to a person: every route and every shape, from the same description that programs are given."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Mapping[str, Any]

INTRODUCTION: Final = """\
`outrider serve` answers programs under `/api/v1`, as JSON; how to start it is in [Watch and steer a crawl in the
browser](../how-to/dashboard.md). The same description for programs, as OpenAPI 3.1, is at `/api/v1/openapi.json`.

- Instants are seconds since 1970, spans are seconds, sizes are bytes. Texts from the web are as they came.
- Where a token is needed, it goes into the header: `Authorization: Bearer TOKEN`.
- What changes something is a `POST` with the header `X-Outrider`, whatever its value, and a JSON body.
- A list goes on where `after` of the answer says: send it back as `after`. Fewer rows than asked for are not the end.
- Whatever cannot be answered is a [Wrong](#wrong): a sentence for people, and a word for programs.
- Fields are added, never renamed or removed.
"""


def routes(document: Json) -> Iterator[tuple[str, str, list[tuple[str, ...]], str]]:
    """A title, what it does, its parameters as rows, and what goes in and comes out."""
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            rows: list[tuple[str, ...]] = [
                (f"`{one['name']}`", one["in"], type_of(one["schema"]), one.get("description", ""))
                for one in route.get("parameters", ())
            ]
            yield f"{method.upper()} {path}", route["description"], rows, _in_and_out(route)


def shapes(document: Json) -> Iterator[tuple[str, str, list[tuple[str, ...]]]]:
    """A name, what it means, and its fields as rows; those of an enumeration are its values."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        told = " ".join(schema.get("description", "").split())
        if "enum" in schema:
            yield name, f"{told} One of {_values(schema)}.".strip(), []
        else:
            fields = schema.get("properties", {}).items()
            yield name, told, [(f"`{field}`", type_of(about)) for field, about in fields]


def type_of(schema: Json) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(type_of, schema["anyOf"])))
    if "enum" in schema:
        return _values(schema)
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"list of {' and '.join(map(type_of, schema['prefixItems']))}"
        return f"list of {type_of(schema.get('items', {}))}"
    kind = schema.get("type", "anything")
    return f"{_WORDS.get(kind, kind)}{_bounds(schema)}"


_WORDS: Final = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "object": "object",
}


def _values(schema: Json) -> str:
    return ", ".join("null" if value is None else f"`{value}`" for value in schema["enum"])


def _bounds(schema: Json) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f", {least:,g} to {most:,g}"
    longest = schema.get("maxLength")
    return "" if longest is None else f", up to {longest:,} characters"


def _in_and_out(route: Json) -> str:
    takes = ""
    if "requestBody" in route:
        takes = f"Takes {_shape_of(route['requestBody'])}. "
    answer = route["responses"]["200"]
    return f"{takes}Answers {_shape_of(answer)}: {answer['description'][0].lower()}{answer['description'][1:]}"


def _shape_of(holder: Json) -> str:
    return type_of(holder["content"]["application/json"]["schema"])
