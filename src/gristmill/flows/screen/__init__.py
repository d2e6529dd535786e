"""The flow `screen`: spam, toxic, duplicate, near-duplicate, low-quality, pii and lang for posts and comments.

Pictures that come with them are labelled nsfw, near-duplicate, similar-picture, listed and unscreened.

It runs out of the box: no key, no download, no service. `rules.yaml` beside this file decides; to use a copy of your
own or a head that you trained, put this into a Python file and name it in `flows.paths`:

    from gristmill import Flow
    from gristmill.flows.screen import build_plan

    flow = Flow("mine", plans=[build_plan("my-screen", rules="my-rules.yaml", head="my-head.bin")])
"""

from gristmill.flows.screen.files import read_shipped_rules
from gristmill.flows.screen.plan import ImageOptions, build_plan
from gristmill.plans.plan import Flow

__all__ = ["ImageOptions", "build_plan", "flow", "read_shipped_rules"]

flow = Flow("screen", plans=[build_plan()])
