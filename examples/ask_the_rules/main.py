"""Ask the crawler's rules about a few URLs, without any network."""

from outrider.errors import InvalidUrl
from outrider.model.url import Url
from outrider.policy.admit import Reach, Refusal, admit_rules, refusal
from outrider.policy.robots import parse, verdict

ROBOTS = b"""\
User-agent: *
Disallow: /private/
Allow: /private/press/
"""
LINKS = ["/about", "/private/diary", "/private/press/kit", "/poster.pdf", "https://example.com/", "mailto:a@b.org"]

base = Url("https://www.example.org/")
rules = admit_rules(reach=Reach.DOMAIN, seeds=[base], extensions=frozenset({".pdf"}))
robots = parse(ROBOTS)

for link in LINKS:
    try:
        url = base.resolve(link)
    except InvalidUrl as error:
        print(f"{link:24} not a page: {error.why}")
        continue
    match refusal(url, 0, rules):
        case Refusal(reason, rule, evidence):
            print(f"{link:24} refused: {reason} ({rule}: {evidence})")
        case None:
            print(f"{link:24} {verdict(robots, url.target, 'outrider').reason}")
