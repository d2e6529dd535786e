"""Phrases: what the text asks readers to do."""

from __future__ import annotations

from gristmill.operators.text.phrases.phrase import Phrase, make_phrase

__all__ = ["ASKS"]

ASKS: tuple[Phrase, ...] = (
    make_phrase(
        "subscribe_ask",
        "asks for subscriptions",
        "sub|cri|abon|подпи|登録|订阅|訂閱|구독|inscre",
        r"<sub> (?:to |2 |on |at |in )?(?:me|us|my|our|mah|his|her|their|him|this|these|it|now|today|here|back|4|"
        r"for|up)\b",
        r"<sub> to [a-z0-9]{3,}(?: [a-z0-9]+)? (?:channel|for|he|she|they|and|on)\b",
        r"<please> (?:\w+ ){0,5}<sub>",
        r"<sub> (?:\w+ ){0,2}<please>\b",
        r"(?:like|likes|comment|share|rate|favou?rite|thumbs? up|watch|it)(?: and| or| n)?(?: also)? <sub>",
        r"<sub>(?: and| or| n)? (?:like|share|comment|rate|u|you|ill|i will)\b",
        r"(?:forget|sure|could|can|would|should|must|to|also|and|kindly|wanna|lets|throw a|if u|if you)"
        r" (?:\w+ )?<sub>(?: (?:to|me|us|if|and|for|it|too|my|our|please|pls|plz|on)\b|$)",
        r"(?:get|got|getting|want|need|give)(?: me| us)?(?: some| more| a| few| you)* subs?\b",
        r"(?:every|each|any) sub\b",
        r"(?:who|that) subscribes? to (?:me|us|my|our)",
        r"\w?scribe (?:to|2) (?:me|us|my|our)\b",
        r"suscri\w+ (?:a|en|al) (?:mi|nuestro)",
        r"inscrev\w+ (?:\w+ ){0,3}canal",
        r"abonn\w+ (?:\w+ ){0,3}(?:ma chaine|mein\w* kanal)",
        r"abone ol",
        r"подпи\w+ (?:\w+ ){0,3}(?:канал|меня|нас)",
        r"\w*チャンネル登録",
        r"\w*(?:订阅|訂閱)\w{0,4}频?頻?道",
        r"\w*구독",
    ),
    make_phrase(
        "audience_beg",
        "begs for an audience or counts its own",
        "sub|follower|likes|views",
        r"(?:if|when|until|once) (?:i|we) (?:\w+ ){0,3}(?:\d+k?|some|more|enough|a) (?:\w+ ){0,2}(?:subs?|"
        r"subscribers?|followers?|likes)\b",
        r"(?:help|get|getting|give) (?:me|us|my channel)? ?(?:\w+ ){0,4}\d*k? ?(?:subs|subscribers|followers)\b",
        r"(?:lets|goal|shoot|aim|trying to|try|want|need|would like|appreciate) (?:\w+ ){0,5}(?:subs|subscribers|"
        r"followers)\b",
        r"(?:i|we)(?: have| ve got| got| am at| had)? (?:\w+ ){0,2}\d+k? ?(?:\w+ )?(?:subs|subscribers|followers)\b",
        r"with (?:over )?\d+k? (?:subs|subscribers|followers)\b",
    ),
    make_phrase(
        "trade_back",
        "trades subscriptions or likes",
        "back|4|for|you|return|trade",
        r"(?:sub|subs|subscribe|like|likes|follow|followers|view|f|s|l) ?(?:4|for) ?(?:sub|subs|subscribe|like|"
        r"likes|follow|f|s|l|view)\b",
        r"trade (?:likes|subs|follows|views)\b",
        r"(?:<sub>|follow|like|add|l4l|watch)(?: (?:to|you|u|me|and|ur|your|it|all|follow|add))* back\b",
        r"(?:ill|i will|and i|we will|il) (?:\w+ )?(?:<sub>|follow|add)(?: to)? (?:you|u|back|ur|your)\b",
        r"(?:ill|i will|il|i ll) (?:give|giver|like|watch) (?:\w+ ){0,2}(?:of )?(?:your|ur) (?:vids?|videos?|"
        r"channel)",
    ),
    make_phrase(
        "look_ask",
        "tells readers to look somewhere",
        "check|chek|look|visit|see |watch",
        r"(?:^|<please> |to |and |go |come |<crowd> |can (?:you|u|yall) |could (?:you|u) |"
        r"just )che(?:c)?k(?:ing)? ?out\b(?! (?:the )?(?:views?|time|comments?|date|likes|lyrics|part|number)\b)(?!"
        r" (?:the|that|his|her|those) (?:\w+ ){1,3}(?:at|in|on|around) \d)",
        r"check(?:ed|ing)? ?out (?:my|our|me|us|this|these|mah|some of my|the new|a new|new|his|her|their|them|it)\b",
        r"(?:check|checkin) (?:me|us|him|her|them|em|men|it|this|that|these|my \w+|our \w+|"
        r"mah \w+)(?: \w+){0,2} out\b",
        r"check (?:this|these|me|us|em|them) (?:awesome|cool|new|song|video|link|site|channel|out)\b",
        r"(?:want|like|wanna|care) to check (?:it|them|us|me|that)? ?out\b",
        r"(?:^|<please> |<crowd> )(?:visit|look at|look up|have a look|take a look|watch|see|view) (?:at )?(?:this|"
        r"these) (?:\w+ )?(?:sites?|pages?|video|song|channel|trailer|link|guys?|girl|blog|pics?|pictures|movie|"
        r"clip|app)\b",
        r"(?:care|want|like|wanna|free) to visit\b",
        r"take a look\b",
    ),
    make_phrase(
        "follow_ask",
        "asks to follow, add, join or write",
        "follow|add|join|message|dm |hit me|contact|segue|sigue|seguime|подпи|inbox|text me|whats",
        r"(?:follow|add|message|inbox|dm|contact|pm|whatsapp|text|email) (?:me|us|mee+|my|our|him|this|these)\b",
        r"join (?:me|us|my|our|to our) (?:on|in|here|now|today|and|for|team|group|channel|discord|server|page|"
        r"fight)\b",
        r"follow (?:and |\w+ )?(?:me |us )?(?:on|at|my) <network>",
        r"(?:^|<please> |come )follow\b(?! (?:your|the)\b)",
        r"(?:contact|message|reach|text|write|dm|email|whatsapp) (?:her|him|them|me|us) (?:on|at|via|through|up)\b",
        r"hit me up",
        r"reach (?:out to )?me (?:on|at|via)",
        r"write me on",
        r"me segue\w*",
        r"sigueme",
        r"siganme",
        r"seguime",
        r"segue (?:me|ai)",
        r"suivez (?:moi|nous)",
        r"folg\w* mir",
    ),
    make_phrase(
        "link_ask",
        "sends readers to a link or a search",
        "click|link|here|search|google|sign up|register|look up|look her|look him|find|now|"
        "available|order|apply|enroll|shop|download|install|visit|"
        "go to|use code|out now",
        r"click (?:here|on|the|this|for|below|my|it|now)\b",
        r"^click\b",
        r"\bclick$",
        r"(?:link|links) (?:below|in|here|on|to|is|above)\b",
        r"(?:this|the|next|following|my) link\b",
        r"(?:go|look|register) here\b(?! (?:to|for) (?:check |see )?(?:the )?(?:views?|comments?))",
        r"^here (?:is|are) (?:a|the|my)\b",
        r"^more here\b",
        r"here to (?:make|get|win|buy)",
        r"^search\b",
        r"(?:search|google|type|look up|look her up|find) (?:\w+ ){0,6}(?:on|in) <network>\b",
        r"<please> look up\b",
        r"(?:sign up|register|signup|join) (?:now|here|for|free|today|at|with|on|and|this)\b",
        r"go register",
        r"(?:^|<please> |<crowd> |now )(?:download|install|visit|order)\b",
        r"(?:download|install|order|shop|apply|enroll) (?:now|it|here|our|my|this|today|free)\b",
        r"(?:out|available) now (?:on|in|at|right|here)\b",
        r"now available\b",
        r"available (?:on|at) <network>",
    ),
    make_phrase(
        "vote_ask",
        "asks for votes, signatures, shares or donations",
        "vote|petition|donat|fund|ple|plz|pls|plis",
        r"(?:<please> |^|do |go |and |to |<crowd> )vote(?: \w+){0,2}? (?:for (?!who|what|any|the|your)|now|daily|"
        r"here|on|please|pls)\b",
        r"<please> (?:\w+ ){0,5}vote\b",
        r"vote (?:for (?:me|us|my|our)|please|pls|now|here)\b",
        r"sign (?:the|this|my|our) petition",
        r"(?:this|our) petition\b",
        r"(?:<please> |to |can you )(?:\w+ )?donat\w+",
        r"donate (?:to|at|here|bitcoins?|now|for)\b",
        r"donations? (?:are|is|to|for|welcome)",
        r"gofund\w*",
        r"fund ?rais\w+",
        r"crowd ?fund\w*",
        r"<please> (?:share|sign|spread|support)(?: and (?:like|share|subscribe|help))? (?:this|"
        r"it|my|our|the|to|and|us|me|these)\b",
    ),
    make_phrase(
        "like_beg",
        "begs for likes",
        "like|thumb|upvote|curti",
        r"<please> (?:\w+ ){0,3}?(?:like|thumbs? (?:this |it )?up)\b(?! (?:the|a|an|how|when|what|that)\b)",
        r"(?:like|thumbs? (?:this |it )?up) (?:\w+ ){0,2}?<please>\b",
        r"like (?:this|my|our) (?:\w+ )?(?:page|pic\w*|comment|facebook|poster|photo|video|status)\b",
        r"(?:i|we) need (?:a |\w+ )?(?:lot of )?likes\b",
        r"(?:give|gimme) (?:it |me |us |this )?(?:a )?likes?\b",
        r"^like (?:and|4|for|me|mee+)\b",
        r"like me+\b",
        r"(?:like|likes) (?:it )?and (?:share|comment|sub\w*|follow)",
        r"like (?:and|n|comment|share) (?:share|sub\w*|comment|like)",
        r"thumbs? (?:this|me|my|it)(?: comment)? up",
        r"thumbs? up (?:so|and share|please|this|to)\b",
    ),
)
