"""Roles that a screen reader can make sense of, where the builder writes others."""

# docutils calls the bibliography a list but its entries no items of one.
ROLES = {'<div role="list" class="citation-list">': '<div class="citation-list">'}


def mend_roles(app, page, template, context, doctree) -> None:
    for wrong, right in ROLES.items():
        if "body" in context:
            context["body"] = context["body"].replace(wrong, right)


def setup(app):
    app.connect("html-page-context", mend_roles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
