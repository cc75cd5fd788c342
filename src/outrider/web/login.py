"""The way in for browsers, where a token is needed: a form takes it once, and a cookie remembers that it was right."""

from typing import TYPE_CHECKING, Annotated

from fastapi import Form
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from outrider.web.access import COOKIE, Access

if TYPE_CHECKING:
    from fastapi import FastAPI


def add_login(app: "FastAPI", access: Access) -> None:
    @app.post("/login", include_in_schema=False)
    async def login(token: Annotated[str, Form(max_length=1_000)] = "") -> Response:
        if not access.needs_token:
            return RedirectResponse("/", 303)
        if not access.is_token(token):
            return RedirectResponse("/login?wrong=1", 303)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, access.cookie, httponly=True, samesite="strict", path="/")
        return answer

    @app.post("/logout", include_in_schema=False)
    async def logout(csrf: Annotated[str, Form(max_length=1_000)] = "") -> Response:
        if not access.is_form_token(csrf):
            return PlainTextResponse("this form is not ours, or older than this server: load the page again\n", 403)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return answer
