"""Who may do what: shared links, scopes, and what must not get through."""

import json
import os
import re

from harness import Live, Test, file_in, main, victim

LONG = "60"
MARK = {"X-Pyrometer": "1", "Content-Type": "application/json"}


def bearer(token):
    return {"Authorization": "Bearer " + token}


def share(live, **members):
    """A new shared link: what the API says of it."""
    answer = live.ask("/api/v1/shares", "POST", json.dumps(members), MARK)
    assert answer.status == 201, answer.body
    return answer.json()


class Shares(Test):
    def test_a_shared_link_lets_look_and_nothing_else(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            made = share(live, name="for ann", expires_in="12h")
            self.assertEqual((made["id"], made["name"], made["scope"]), (1, "for ann", "viewer"))
            self.assertRegex(made["expires_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertEqual(made["url"], "http://127.0.0.1:%d/?token=%s" % (live.port, made["token"]))
            answer = live.ask("/?v=1&token=" + made["token"], token=False)
            self.assertEqual((answer.status, answer.headers["Location"]), (303, "/?v=1"))
            cookie = answer.headers["Set-Cookie"]
            self.assertRegex(cookie, r"^pyrometer-%d-share=[0-9a-f]{64}; HttpOnly; SameSite=Lax; Path=/; Max-Age=\d+$"
                             % live.port)
            self.assertNotIn(made["token"], cookie)
            for headers in (bearer(made["token"]), {"Cookie": cookie.partition(";")[0]}):
                for path in ("/", "/api/v1/sessions", "/api/v1/sessions/1/view", "/api/v1/sessions/1/report.html"):
                    self.assertEqual(live.ask(path, headers=headers, token=False).status, 200, path)
                who = live.ask("/api/v1/access", headers=headers, token=False).json()
                self.assertEqual((who["scope"], who["share"], who["can_share"]), ("viewer", 1, False))
                for method, path in (("PATCH", "/api/v1/sessions/1"), ("POST", "/api/v1/shares"),
                                     ("GET", "/api/v1/shares"), ("DELETE", "/api/v1/shares/1")):
                    answer = live.ask(path, method, '{"state": "paused"}' if method == "PATCH" else None,
                                      dict(MARK, **headers), token=False)
                    self.assertEqual(answer.status, 403, (method, path))
                    self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
            self.assertEqual(live.session()["state"], "running")
            self.assertEqual(live.get("/access")["scope"], "operator")
            # An operator who opens the link stays one.
            both = {"Cookie": cookie.partition(";")[0], **bearer(live.token)}
            self.assertEqual(live.ask("/api/v1/access", headers=both, token=False).json()["scope"], "operator")

    def test_links_expire_and_are_revoked(self):
        with victim("chain.py", LONG) as target, Live("attach", str(target.pid)) as live:
            short, long = share(live, expires_in="1s"), share(live, name="long", expires_in="never")
            self.assertIsNone(long["expires_at"])
            live.wait_session(lambda _: live.ask("/api/v1/access", headers=bearer(short["token"]),
                                                 token=False).status == 401)
            self.assertEqual(live.ask("/?token=" + short["token"], token=False).status, 401)
            listed = live.ask("/api/v1/shares").json()["shares"]
            self.assertEqual([entry["id"] for entry in listed], [long["id"]])
            self.assertNotIn("token", listed[0])
            self.assertEqual(live.ask("/api/v1/access", headers=bearer(long["token"]), token=False).status, 200)
            self.assertEqual(live.ask("/api/v1/shares/%d" % long["id"], "DELETE", None, MARK).status, 204)
            self.assertEqual(live.ask("/api/v1/access", headers=bearer(long["token"]), token=False).status, 401)
            for wrong in ("0", "x", "2", "99999999999", "-1", "1x"):
                self.assertEqual(live.ask("/api/v1/shares/" + wrong, "DELETE", None, MARK).status, 404, wrong)
            for body in ('{"expires_in": "0s"}', '{"expires_in": "367d"}', '{"expires_in": "soon"}', '{"expires_in": 5}',
                         '{"name": "%s"}' % ("x" * 81), '{"scope": "operator"}', "[]"):
                self.assertEqual(live.ask("/api/v1/shares", "POST", body, MARK).status, 400, body)

    def test_links_outlive_us_only_where_that_is_said(self):
        path = file_in("shares")
        with victim("chain.py", LONG) as target:
            with Live("attach", "--shares", path, str(target.pid)) as live:
                token = share(live, name="kept")["token"]
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            with open(path, encoding="utf-8") as file:
                self.assertNotIn(token, file.read())
            with Live("attach", "--shares", path, str(target.pid)) as live:
                self.assertEqual(live.ask("/api/v1/access", headers=bearer(token), token=False).status, 200)
            with Live("attach", str(target.pid)) as live:
                self.assertEqual(live.ask("/api/v1/access", headers=bearer(token), token=False).status, 401)


class BasePath(Test):
    def test_below_a_path_with_and_without_a_proxy_that_takes_it_off(self):
        with victim("chain.py", LONG) as target, Live("attach", "--base-path", "/team/heat/", str(target.pid)) as live:
            self.assertRegex(live.url, r"^http://127\.0\.0\.1:\d+/team/heat/\?token=")
            answer = live.ask("/team/heat", token=False)
            self.assertEqual((answer.status, answer.headers["Location"]), (308, "/team/heat/"))
            for path in ("/team/heat/?token=", "/team/heat?token=", "/?token="):
                answer = live.ask(path + live.token, token=False)
                self.assertEqual((answer.status, answer.headers["Location"]), (303, "/team/heat/"), path)
                self.assertRegex(answer.headers["Set-Cookie"], r"; Path=/team/heat/$")
            secure = live.ask("/?token=" + live.token, headers={"X-Forwarded-Proto": "https"}, token=False)
            self.assertRegex(secure.headers["Set-Cookie"], r"; Secure$")
            page = live.ask("/team/heat/").body.decode()
            self.assertNotRegex(page, r'(?:src|href)="/')
            for prefix in ("", "/team/heat"):
                self.assertEqual(live.ask(prefix + "/api/v1/sessions/1").json()["id"], "1")
            for path in ("/team/heated/api/v1/sessions", "/team/heat/team/heat/", "/team/", "/team"):
                self.assertEqual(live.ask(path).status, 404, path)
            self.assertEqual(live.ask("/team/heat/api/v1/sessions", token=False).status, 401)
            url = share(live)["url"]
            self.assertTrue(re.match(r"^http://127\.0\.0\.1:\d+/team/heat/\?token=[0-9a-f]{64}$", url), url)


if __name__ == "__main__":
    main()
