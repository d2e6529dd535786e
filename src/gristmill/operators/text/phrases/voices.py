"""Phrases: how the text presents itself."""

from __future__ import annotations

from gristmill.operators.text.phrases.phrase import Phrase, make_phrase

__all__ = ["VOICES"]

VOICES: tuple[Phrase, ...] = (
    make_phrase(
        "newcomer",
        "introduces a newcomer who looks for an audience",
        "new |start|small|coming|unsigned|rookie|first|young|unknown|aspiring|local|underground|notice|"
        "independent|year old|yr old|beginn|"
        "just |recently|have |ve |made|mak|get|be |got|showcase|spread",
        r"(?:new|small|upcoming|beginner|beginning|starting|young|unsigned|aspiring|rookie|independent|unknown|"
        r"underground|up and coming|local|year old|yr old) (?:\w+ ){0,2}?(?:you ?tubers?|artists?|producers?|"
        r"rappers?|singers?|songwriters?|bands?|musicians?|djs?|gamers?|streamers?|b?vloggers?|bloggers?|"
        r"social network|dancers?)\b",
        r"(?:just|recently|have|ve|first) (?:just )?(?:started|made|created|launched|opened|starting|began|uploaded|"
        r"put up|put) (?:\w+ ){0,4}?(?:<channel>|you ?tube|pages?|bands?|blog|vids?|videos?|account|up)\b",
        r"(?:a|my|our|this) (?:\w+ )?new (?:\w+ )?(?:<channel>|group|network)(?: (?:and|with|for|like|where|on|"
        r"called|please|so|pls|plz)\b|$)",
        r"new (?:on|to|at|here on) (?:you ?tube|yt)\b",
        r"(?:made|make|making|started|started up) (?:a|my|this) (?:\w+ ){0,3}<channel>\b",
        r"(?:i am|im|we are|were) (?:a|an) (?:\w+ )?new <channel>",
        r"(?:get|be|getting|got) (?:noticed|notice|discovered|known|heard|my name out|out there|myself)\b",
        r"showcase my",
        r"spread my",
    ),
    make_phrase(
        "creator",
        "presents itself as an artist or maker",
        "im |i am|ima|i m|we |i |were|my name|this is|its |post|upload|all about|videos|vids|movies|gameplay",
        r"(?:im|i am|ima|i m|we are|were|my name is \w+ (?:and )?im|this is|its) (?:\w+ ){0,5}?(?:rappers?|singers?|"
        r"producers?|songwriters?|djs?|you ?tubers?|artists?|musicians?|streamers?|twins|composer|band|drummer|"
        r"guitarist)\b",
        r"(?:i|we) (?:also )?(?:make|do|post|upload|produce|record|create|film|write)(?: \w+){0,4}? (?:covers?|"
        r"videos?|vids?|music|beats?|remix(?:es)?|raps|montages?|reviews?|tutorials?|lets plays?|let s plays?|"
        r"animations?|vlogs?)\b",
        r"(?:i|we) (?:make|do|post|upload|filming|gonna film) (?:\w+ ){0,4}?(?:every|daily|weekly|on my)\b",
        r"posting (?:daily|videos|singing|covers)",
        r"posts? videos\b",
        r"uploading (?:my|our|their|daily|new)",
        r"(?:i|we) (?:\w+ )?(?:did|made|recorded|posted|uploaded|wrote|dropped|released|make|create|built) (?:(?:a|"
        r"an|some|the|this|new|my|our|of|amazing|awesome|lots|many|great|music|guitar|piano|cool|"
        r"funny) ){0,4}(?:covers?|songs?|remix(?:es)?|track|mix ?tape|beats?|chiptunes?|montages?|parod\w+|"
        r"t ?shirts?|app|let ?s ?plays?)\b",
        r"(?:i|we) rap\b",
        r"all about (?:gaming|music|rapping|minecraft|fashion|beauty|tech)",
        r"(?:funny|epic|awesome|cool|gaming|minecraft|latest|how to) (?:\w+ )?(?:videos|vids|movies|"
        r"gameplays?)(?: on| in| at| for| please|$)",
    ),
    make_phrase(
        "favour",
        "asks a favour of strangers",
        "help|mean|appreciat|regret|ap|grateful|thankful|give |take|just|only|spare|support|advance|think|"
        "feedback|critici|"
        "advice|lazy|miss out|dream|wont|will not",
        r"(?:would|will|could|it|itd|that) (?:\w+ ){0,2}?mean (?:the|so|a|alot|everything|lots|to)\b",
        r"mean(?:s)? the (?:\w+ )?world\b",
        r"(?:would|ill|really|id|greatly|be) (?:\w+ ){0,2}?(?:appreciate\w*|grateful|thankful)\b",
        r"give (?:me|us|it|him|her|them) (?:a|one|an|some)? ?(?:chance|op{1,2}ortunity|try|listen|like|feedback|moment|"
        r"view|shot)\b",
        r"(?:take|takes|just|only|give|spare) (?:\w+ ){0,3}?(?:\d+|a|one|few|some|two) (?:\w+ )?(?:seconds?|secs?|"
        r"minutes?|mins?|moment|click)\b",
        r"(?:<please>|^|can you|could you) (?:support|help) (?:me|us|my|our|him|this|with)\b",
        r"help (?:me|us) (?:reach|raise|win|grow|pay|<please>)\b",
        r"need (?:your|ur|some|the) (?:help|support)\b",
        r"help each other",
        r"thanks in advance",
        r"(?:tell me|let (?:me|us) know|comment) what (?:you|u|yall) think",
        r"(?:leave|make|some|any|give) (?:\w+ )?(?:feedback|feedbacks|criticism|advice)\b",
        r"dont be lazy",
        r"miss out\b",
        r"(?:my|a|searching|one) dream\b",
        r"(?:wont|will not) (?:be )?(?:regret|disap+ointe?d|dis?ap+oint)",
    ),
    make_phrase(
        "hail",
        "opens by calling everyone",
        "hey|hi|hello|guys|every|yo |whats|what s|attention|people|hola|any|dear|ehi|please|friend|greetings|"
        "ok |so |sup |yall",
        r"(?:^|attention |also )(?:hey+|hi+|hello+|yo|hiya|ehi|sup|whats ?up|what s up|attention|dear|greetings|ok|"
        r"so|please|hola) (?:again )?(?:my )?<crowd>\b",
        r"^(?:guys|every ?one|every ?body|people|peoples|yall|attention|hiya|ehi|friends)\b",
        r"^any(?:one|body) (?:who|here|wanna|want)\b",
        r"^(?:can|would|could) any(?:one|body)\b",
        r"^hey i(?:m| am| know| just)\b",
        r"^hey (?:check|come|join|subscribe)",
    ),
    make_phrase(
        "spam_excuse",
        "excuses itself for spamming, or is a chain letter",
        "spam|hate|skip|ignore|advert|repost|copy|paste|send this|tend to|kind of comments|these comments|die|"
        "will see this|curse|sorry",
        r"(?:sorry|excuse me|forgive me) (?:\w+ ){0,3}?(?:spam\w*|advert\w*|promo\w*|self promo\w*)\b",
        r"i know (?:\w+ ){0,4}?(?:hate|skip|ignore|dislike|dont like|annoy\w*|like|mind) (?:\w+ ){0,4}?(?:comments?|"
        r"spam|adverts?|these)\b",
        r"(?:this is|this isnt|im|i am|its) (?:not )?(?:a )?(?:spam|bot|scam|virus)\b(?:$| (?:but|so|i|just|please))",
        r"(?:tend to|usually|please dont|please do not|before you) (?:skip|ignore|delete|scroll)\b",
        r"free advertis\w+",
        r"shameless (?:plug|promo)",
        r"(?:someone|one|only \w+ people) (?:will|would) (?:actually )?(?:see|read) this\b",
        r"(?:copy (?:and|n|then) paste|send this to|repost this|post this (?:on|to|in)|forward this|paste this)\b",
        r"(?:or|if you (?:do not|dont|dont)) .{0,80}(?:will|gonna|going to) die\b",
    ),
    make_phrase(
        "cites_source",
        "names the link as a source (speaks against spam)",
        "source|via|doc|according|paper|study|article|report|wiki|reference|quote|explained|issue|ticket|spec|manual",
        r"(?:sources?|via|according to|references?|quoted? from|documented|documentation|docs?|manual|spec)\b",
        r"(?:the|this|a|an|original|full|their|that|here is the) (?:\w+ ){0,2}(?:paper|study|article|report|"
        r"interview|issue|ticket|documentation|dataset)\b",
        r"explained (?:here|in|at)\b",
    ),
)
