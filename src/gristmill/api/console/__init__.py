"""The web console: pages for people over the same services, gate and roles as the API.

How to add a page
-----------------
1. Write `pages/NOUN.py` with an async function that takes a `Console` and a `Call` and returns a `View` (a template and
   its values) or a `Redirect`, and list it as a `Page`::

       async def _list_things(console: Console, call: Call) -> View:
           query = call.read_query(ThingQuery)                  # a msgspec struct; anything odd becomes a 400 page
           found = await find_things(console.services, call.principal, query)
           return View("things/list.html", query=query, things=found)

       THING_PAGES = (
           Page(name="consoleThings", path="/console/things", title="Things", access="viewer", handle=_list_things,
                nav=Nav("Things", key="t", order=30)),
           Page(name="consoleThing", path="/console/things/{thing_id}", title="Thing", access="viewer",
                handle=_show_thing, section="consoleThings"),
       )

2. Add `*THING_PAGES` to `PAGES` in `pages/__init__.py`. The navigation, `g t` and the palette follow from `nav`.
3. Write `templates/things/list.html`: `{% extends "layout.html" %}`, `{% block body %}<div class="page"><h1>...`.
   At hand are `viewer`, `can("operator")`, `now_ms`, `here`, `origin`, `url(path, **query)` and `asset(name)`; the
   filters `said` (what others wrote: isolated, steering characters visible), `moment`, `duration`, `count`, `rate` and
   `shell`; and the macros of `parts.html`: `how` (curl and command line), `empty`, `badge`, `live_switch`.
4. Live pages put what changes into `<div id="live">` and `{{ live_switch() }}` into `{% block live %}`: the page is
   fetched again every 5 s and that element is exchanged if it differs. Rows that `j`, `k` and `Enter` move over are
   `<tr data-row>` with a link in them; give elements that can have the focus an id, so that it stays.
5. Changes are posts of plain forms (`read_form`), with `access="operator"` on the page and `{% if can("operator") %}`
   around the button. Only our own origin may send them. Raise `problem(...)` for what goes wrong: it becomes a page.

The policy allows no inline script and no `style` attribute. `static/console.css` and `static/console.js` serve all
pages; one that needs more asks for it in `{% block scripts %}`, as items do for `items.css`. Every text is escaped;
never use the filter `safe`.
"""

from gristmill.api.console.shell import build_console

__all__ = ["build_console"]
