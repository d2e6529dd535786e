"""Phrases: what the text advertises or offers."""

from __future__ import annotations

from gristmill.operators.text.phrases.phrase import Phrase, make_phrase

__all__ = ["OFFERS"]

OFFERS: tuple[Phrase, ...] = (
    make_phrase(
        "own_channel",
        "advertises its own channel, page or account",
        "my |our |mah |canal|chaine|kanal|канал",
        r"<own> (?:[a-z0-9]+ ){0,3}?<channel>\b(?! \d)",
        r"<look> <between><own> (?:[a-z0-9]+ ){0,3}?<place>\b",
        r"<own> (?:<network>) (?:user ?)?(?:name|page|account|is)\b",
        r"(?:click|see|visit|on|in|link in|at|check) (?:\w+ ){0,2}?(?:my|our) (?:page|profile|bio|wall|stor(?:y|"
        r"ies)|website|blog|etsy|patreon)\b",
        r"(?:mi canal|meu canal|ma chaine|mein\w* kanal|мо[ие]\w* канал\w*|mio canale)\b",
    ),
    make_phrase(
        "own_work",
        "advertises its own videos, songs or products",
        "my |our |mah |i |we |us ",
        r"<look> <between><own> (?:[a-z0-9]+ ){0,4}?<work>\b(?! reviews?\b)",
        r"<own> (?:new|newest|latest|debut|upcoming|recent) (?:[a-z0-9]+ ){0,2}?<work>\b",
        r"<own> (?:first|own) (?:\w+ )?(?:vid\w*|clip|cover|mix ?tape|remix|ep)\b",
        r"<own> <work> (?:are|is)(?: \w+){0,4} (?:out|up|available|on|decent|good|awesome|live)\b",
        r"(?:releasing|dropping|launching|selling|promoting) (?:a|an|our|my|new)\b",
    ),
    make_phrase(
        "money_offer",
        "offers money or a way to make it",
        "earn|money|paid|income|cash|profit|dollar|invest|bitcoin|crypto|forex|leads|payout|return|make |"
        "working|work |trad|broker",
        r"(?<!they )(?<!who )(?<!people )(?<!we )(?:earn|earning|make|making|get|win|receive|extra|free)"
        r" (?:\w+ ){0,3}?(?:easy |real |extra |free |fast |paypal )?(?:money|cash|income|dollars|bitcoins?|profits?)"
        r" (?:\w+ ){0,4}?(?:online|today|now|easy|fast|daily|per|every|here|home|internet|free|sharing|using|doing|"
        r"ever|while|just|via|on (?:the side|social|your|autopilot)|for (?:free|sharing|gift)|from (?:home|game|"
        r"games|your|the internet)|by (?:doing|sharing|watching|internet)|at home)\b",
        r"(?:earn|earning) (?:\w+ ){0,2}\d+\w*\b",
        r"(?:earn|make) (?:\d+|money|cash|thousands) (?:\w+ ){0,3}(?:day|week|month|hour|home|daily|weekly)\b",
        r"(?:you|youll|u|even|to|they|who) (?:can |will |could |ll |to |even )?(?:get|be|got|getting) paid (?:for|"
        r"to|by|just|daily|when)\b",
        r"get paid\b",
        r"(?:easiest|easy|quick|fast|free|real|extra|online) (?:money|cash|income)\b",
        r"^need money\b",
        r"money today",
        r"(?:passive|extra|residual|second) income",
        r"work(?:ing)? from home",
        r"generate \w+ leads",
        r"free leads",
        r"(?:forex|crypto|bitcoin|trading) (?:trad\w+|signals?|invest\w+|account|expert|platform|mentor)",
        r"(?:guaranteed|daily|weekly) (?:profits?|returns?|payouts?|income)",
        r"invest (?:with|in my|now|\d+)",
        r"earn (?:\w+ )?(?:crypto|bitcoins?|btc|usdt|cash)\b",
        r"(?:my|her|his) (?:broker|investment|trader) ",
    ),
    make_phrase(
        "free_offer",
        "offers something for nothing",
        "free|give ?away|giveaway|give away|chance|win |won |prize|reward|raffle|gift|code",
        r"free (?:\w+ ){0,3}?(?:gift|giftcards?|cards?|codes?|downloads?|itunes|iphones?|android|games?|apps?|money|"
        r"leads|followers|subs|robux|v ?bucks|credits?|trial|shipping|signals|skins?|nitro|ebook|e book|stuff|psn|"
        r"steam|xbox|music|beats|giv\w*|samples?|coins?|gems|spins?|access|membership|vouchers?)\b",
        r"for free (?:on|at|with|now|and|here|from|in)\b",
        r"get (?:\w+ ){0,4}(?:for free|free)\b",
        r"(?:doing|hosting|my|our|enter|join|huge|free|iphone|daily|weekly|for) (?:\w+ ){0,3}give ?aways?\b",
        r"raffles?\b",
        r"sweepstakes?\b",
        r"gift ?cards?\b",
        r"giftcodes?",
        r"promo ?codes?",
        r"discount codes?",
        r"coupon codes?",
        r"chance (?:to|of|at) (?:win|winning|get)\b",
        r"(?:want|wanna|like) to win\b",
        r"you (?:have |ve )?won\b",
        r"claim (?:your|ur|the|now)\b",
        r"enter to win",
        r"win (?:a|an|free|the|\d+) (?:\w+ ){0,3}(?:iphone|ipad|laptop|card|prize|ticket|trip|cash|money|ps\d|xbox|"
        r"gun)\w*",
    ),
    make_phrase(
        "sale_offer",
        "sells something",
        "stream|pre|code|yours|our |we are|ever made|new |cheap|custom|these |amazing|viagra|cialis|escort|"
        "payday|install|dollars|bucks|euro|usd|buy|sell|sale|discount|price|shop|order|only|t shirt|tshirt|"
        "clothing|off|available|"
        "customers|product|download|cheap",
        r"(?:^|<please> |can |do |to |and |now |come )buy (?:\w+ ){0,3}(?:here|now|these|this|our|my|at|it|any|from|"
        r"yours?|followers|likes)\b",
        r"(?:i|we) (?:\w+ )?sell(?:ing)?\b",
        r"(?:stream|pre ?order|preorder|order|shop|get) (?:it|yours?|now) (?:it |yours )?(?:now|today|here)\b",
        r"(?:use|with) (?:my|code|our) (?:\w+ )?code\b",
        r"use code \w+",
        r"for sale\b",
        r"on sale\b",
        r"discount(?:s|ed)?\b",
        r"best prices?\b",
        r"(?:only|just|for) \d+ (?:dollars|bucks|euros?|usd)\b",
        r"\d+ off\b",
        r"our (?:clothing|customers|products?|store|company|apparel|shop|services?)\b",
        r"we are an? (?:\w+ ){0,3}(?:company|label|brand|agency|store|business)",
        r"(?:new|cheap|custom|these|amazing|christmas) (?:\w+ ){0,3}(?:t ?shirts?|tees|hoodies?|merch|jewelry)\b",
        r"(?:coolest|best|cheapest) (?:\w+ ){0,2}ever made\b",
        r"install or update",
        r"cheap (?:\w+ ){0,2}(?:followers|likes|views|meds|pills|price)",
        r"viagra",
        r"cialis",
        r"escort service",
        r"payday loan",
    ),
    make_phrase(
        "hack_offer",
        "offers hacks, cracked copies or generators",
        "recover|hack|crack|torrent|cheat|generator|unlimited|keygen|dvdscr|xvid|unlock|leaked",
        r"(?:account|facebook|fb|instagram|snapchat|password|whatsapp|psn) (?:\w+ )?hack(?:s|er|ing)?\b",
        r"hack(?:er)? (?:any|your|a|my|accounts?|fb|facebook|spouse|into)\b",
        r"(?:torrents?|dvd ?scr|xvid|keygen|warez)\b",
        r"unlimited (?:coins|gems|gold|money|cash|followers|credits)",
        r"(?:code|coin|gem|robux|v ?bucks|card) generator",
        r"recover(?:ed|y|ing)? (?:of )?(?:\w+ ){0,4}?(?:funds?|crypto|bitcoins?|btc|wallet)\b",
    ),
)
