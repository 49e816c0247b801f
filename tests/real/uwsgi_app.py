"""uwsgi --module uwsgi_app: a server in C that embeds Python."""

import work


def application(_, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [work.work().encode()]
