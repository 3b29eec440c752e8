"""The page for addresses that do not exist, with a search field.

A server shows 404.html at the address that was asked for, so its links start from where the book
is: the folder of ``html_baseurl`` where that is in the address, else the server's root.
"""

from urllib.parse import urlsplit

PAGE = "404"
SCRIPT = """<script>
if (location.protocol !== "file:" && !location.pathname.endsWith("/404.html"))
  document.head.prepend(Object.assign(document.createElement("base"),
    {{ href: location.pathname.startsWith("{folder}") ? "{folder}" : "/" }}));
</script>"""


def set_base(app, page, template, context, doctree) -> None:
    if page == PAGE:
        script = SCRIPT.format(folder=urlsplit(app.config.html_baseurl).path)
        context["metatags"] = script + context.get("metatags", "")


def setup(app):
    app.config.html_additional_pages = {PAGE: f"{PAGE}.html"}
    app.config.templates_path = [*app.config.templates_path, "book/_templates"]
    app.connect("html-page-context", set_base)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
