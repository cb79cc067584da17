"""Unicode classes of Go's regular expressions, translated to RE2 classes.

Go (``regexp/syntax``, Unicode 15) ignores case, blanks, hyphens and underscores in names and
supports long names, ``Any``, ``Assigned``, ``ASCII``, ``Cn`` and ``LC``; its ``C`` includes
unassigned code points. RE2 supports only the short names. In Go, a script name is one word:
``Old_Italic`` is not a name.
"""

import functools

from re2 import _re2

MEMBERS_OF_ALL = r"\x{0}-\x{10FFFF}"
ASSIGNED = r"\p{C}\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}"  # RE2's C does not include unassigned code points

CATEGORY_NAMES = """
    Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So
    Z Zl Zp Zs
"""
SCRIPT_NAMES = """
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic
    Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic
    Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran
    Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki
    Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic
    Manichaean Marchen Medefaidrin Miao Modi Mongolian Mro Multani Myanmar Nabataean
    Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene Phoenician Rejang Runic
    Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac
    Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta
    Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi
"""
PLAIN_NAMES = frozenset((CATEGORY_NAMES + SCRIPT_NAMES).split())
ALIASES = {
    "Casedletter": "LC",
    "Closepunctuation": "Pe",
    "Cntrl": "Cc",
    "Combiningmark": "M",
    "Connectorpunctuation": "Pc",
    "Control": "Cc",
    "Currencysymbol": "Sc",
    "Dashpunctuation": "Pd",
    "Decimalnumber": "Nd",
    "Digit": "Nd",
    "Enclosingmark": "Me",
    "Finalpunctuation": "Pf",
    "Format": "Cf",
    "Initialpunctuation": "Pi",
    "Lc": "LC",
    "Letter": "L",
    "Letternumber": "Nl",
    "Lineseparator": "Zl",
    "Lowercaseletter": "Ll",
    "Mark": "M",
    "Mathsymbol": "Sm",
    "Modifierletter": "Lm",
    "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn",
    "Number": "N",
    "Openpunctuation": "Ps",
    "Other": "C",
    "Otherletter": "Lo",
    "Othernumber": "No",
    "Otherpunctuation": "Po",
    "Othersymbol": "So",
    "Paragraphseparator": "Zp",
    "Privateuse": "Co",
    "Punct": "P",
    "Punctuation": "P",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Spacingmark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecaseletter": "Lt",
    "Unassigned": "Cn",
    "Uppercaseletter": "Lu",
}


def members(name: str, *, negated: bool) -> str | None:
    """The members inside ``[…]`` of ``\\p{name}`` or ``\\P``; None if the name is unknown."""
    name = canonical(name)
    name = ALIASES.get(name, name)
    if name in PLAIN_NAMES:
        return f"\\{'P' if negated else 'p'}{{{name}}}"
    if name == "Any":
        return "" if negated else MEMBERS_OF_ALL
    if name == "Ascii":
        return r"\x{80}-\x{10FFFF}" if negated else r"\x{0}-\x{7F}"
    if name == "Assigned":
        return unassigned() if negated else ASSIGNED
    if name == "Cn":
        return ASSIGNED if negated else unassigned()
    if name == "C":
        return r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}" if negated else r"\p{C}" + unassigned()
    if name == "LC":
        if negated:
            return r"\p{Lm}\p{Lo}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}" + unassigned()
        return r"\p{Lu}\p{Ll}\p{Lt}"
    return None


def canonical(name: str) -> str:
    """The name as Go looks it up: capitalized, without blanks, hyphens and underscores."""
    word = "".join(char for char in name if char not in "_- ")
    return word[:1].upper() + word[1:].lower() if word.isascii() else word


@functools.cache
def unassigned() -> str:
    """The ranges of unassigned code points, for which RE2 has no name."""
    points = [point for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    text = "".join(map(chr, points)).encode()
    finder = _re2.RE2(f"[^{ASSIGNED}]+".encode(), _re2.RE2.Options())
    ranges = []
    anywhere = _re2.RE2.Anchor.UNANCHORED
    at = 0
    # No match is the span (-1, -1), or no span at all.
    while (found := finder.Match(anywhere, text, at, len(text))) and found[0][0] >= 0:
        start, at = found[0]
        run = text[start:at].decode()
        ranges.append(f"\\x{{{ord(run[0]):X}}}-\\x{{{ord(run[-1]):X}}}")
    return "".join(ranges)
