"""The page about the HTTP API, made from its OpenAPI document; nothing is loaded from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from shoal.web.render import page
from shoal.web.state import Shared

router = APIRouter(include_in_schema=False)


@router.get("/docs", response_class=HTMLResponse)
def docs(request: Request, state: Shared) -> HTMLResponse:
    """Show all calls."""
    document = request.app.openapi()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            group = (call.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(_described(method, path, call))
    schemas = document.get("components", {}).get("schemas", {})
    return page(
        request,
        "docs.html",
        about=document["info"]["description"],
        groups=groups,
        schemas={name: _fields(schema) for name, schema in schemas.items() if schema.get("properties")},
        address=f"{request.url.scheme}://{request.headers['host']}",
    )


def _described(method: str, path: str, call: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says about a call."""
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = [(status, answer) for status, answer in call["responses"].items() if status.startswith("2")]
    content = answers[0][1].get("content", {}) if answers else {}
    return {
        "method": method.upper(),
        "path": path,
        "about": call.get("description") or call.get("summary", ""),
        "parameters": [
            (one["name"], one["in"], one.get("description", ""), one.get("required", False))
            for one in call.get("parameters", [])
            if one["name"] != "name"
        ],
        "body": None if body is None else type_name(body),
        "takes_file": path.endswith("/upload"),
        "answer": type_name(content["application/json"].get("schema", {}))
        if "application/json" in content
        else ", ".join(content),
    }


def _fields(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the fields of a schema: name, type, meaning."""
    return [
        (name, type_name(field), field.get("description", "")) for name, field in schema["properties"].items()
    ]


def type_name(schema: dict[str, Any]) -> str:
    """Name the type of a value in words.

    >>> type_name({"type": "array", "items": {"$ref": "#/components/schemas/Run"}})
    'list of Run'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(type_name(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {type_name(schema.get('items', {}))}"
    return str(schema.get("const", schema.get("type", "anything")))
