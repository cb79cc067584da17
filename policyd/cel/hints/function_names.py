"""Name hints: functions of other languages, and those that are called in another way."""

from collections.abc import Iterable, Mapping

from policyd.cel.hints.tree import filled

# What to write for a function that does not exist. {0}, {1} … are the operands, the receiver first.
_SIZE, _STARTS, _ENDS = "size({0})", "{0}.startsWith({1})", "{0}.endsWith({1})"
_LOWER, _UPPER, _MATCHES = "{0}.lowerAscii()", "{0}.upperAscii()", "{0}.matches({1})"
_IN, _ALL, _EXISTS, _HAS = "{1} in {0}", "{0}.all(x, …)", "{0}.exists(x, …)", "has({0})"
_KEY, _FILTER, _REPLACE = "{1} in {0}", "{0}.filter(x, …)", "{0}.replace({1}, {2})"
_FORMAT, _STRING, _INT, _DOUBLE = "'…'.format([…])", "string({0})", "int({0})", "double({0})"
_VALUE, _TYPE, _SUBSTRING = "a.?b.orValue({1})", "type({0}) == string", "{0}.substring(…)"
_TRIM, _SORT, _PREFIX = "{0}.trim()", "{0}.sort()", "{0}.substring(size({1}))"
_NO_CLOCK = "CEL in Kubernetes has no clock: compare timestamps of the object"
_NO_CODE = "CEL in Kubernetes has neither hashes nor base64 nor JSON"


def _rows(template: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), template)


# By name without underscores, in lower case.
ALIASES: Mapping[str, str] = {
    **_rows(_SIZE, "len length count sizeof cardinality strlen"),
    **_rows(_STARTS, "startwith startswith beginswith hasprefix prefix isprefix"),
    **_rows(_ENDS, "endwith endswith hassuffix suffix issuffix"),
    **_rows(_LOWER, "tolower lower lowercase tolowercase downcase lcase"),
    **_rows(_UPPER, "toupper upper uppercase touppercase upcase ucase"),
    **_rows(_MATCHES, "match regex regexp regexmatch ismatch matchregex like rlike test glob"),
    **_rows(_IN, "includes include in isin oneof member ismember containsitem"),
    **_rows(_KEY, "haskey containskey keyexists hasown hasfield hasattr haslabel"),
    **_rows(_EXISTS, "any some anymatch exist"),
    **_rows(_ALL, "every each foreach forall allmatch"),
    **_rows(_FILTER, "where select grep"),
    **_rows("{0}.map(x, …)", "collect apply pluck transform mapto"),
    **_rows("{0}.map(x, …).sum()", "reduce fold"),
    **_rows("size({0}) == 0", "isempty empty"),
    **_rows("size({0}) > 0", "isnotempty notempty nonempty"),
    **_rows(_STRING, "tostring str text asstring itoa stringify"),
    **_rows(_INT, "toint parseint integer number tonumber atoi toi"),
    **_rows(_DOUBLE, "tofloat parsefloat float todouble"),
    **_rows("bool({0})", "tobool boolean parsebool"),
    **_rows(_REPLACE, "replaceall gsub regexreplace replacefirst"),
    **_rows(_TRIM, "strip trimspace trimstart trimend ltrim rtrim"),
    **_rows(_PREFIX, "trimprefix removeprefix"),
    **_rows(_SUBSTRING, "substr mid left right trimsuffix removesuffix"),
    **_rows("{0} + {1}", "concat plus append push"),
    **_rows(_FORMAT, "fmt sprintf printf fprintf interpolate"),
    **_rows("!({0})", "not negate"),
    **_rows("{0} && {1}", "and"),
    **_rows("{0} || {1}", "or"),
    **_rows("{0} == {1}", "eq equals equal"),
    **_rows("{0} != {1}", "ne neq notequals"),
    **_rows("{0} > {1}", "gt greaterthan"),
    **_rows("{0} >= {1}", "ge gte"),
    **_rows("{0} < {1}", "lt lessthan"),
    **_rows("{0} <= {1}", "le lte"),
    **_rows("{0} ? {1} : {2}", "if ifelse iif cond ternary"),
    **_rows(_VALUE, "default coalesce getordefault ordefault orelse nvl ifnull dig"),
    **_rows("{0}[{1}], or {0}[?{1}].orValue(…)", "get at item lookup"),
    **_rows(_HAS, "isset defined isdefined present exists isnotnull notnull"),
    **_rows("!has({0})", "isnull isnil isundefined missing absent"),
    **_rows("{0}.map(k, k)", "keys getkeys"),
    **_rows("{0}.map(k, {0}[k])", "values getvalues"),
    **_rows(_TYPE, "typeof isstring isint isnumber isbool islist ismap isarray istype"),
    **_rows(_SORT, "sorted orderby"),
    **_rows("{0}.distinct()", "unique uniq dedupe"),
    **_rows("{0}.asApproximateFloat()", "asfloat asdouble approximatefloat"),
    **_rows("{0}.asInteger()", "asint aslong asnumber"),
    **_rows("quantity({0})", "parsequantity resourcequantity resource toquantity"),
    **_rows("semver({0})", "version parseversion semvercompare"),
    **_rows("duration({0})", "parseduration toduration"),
    **_rows("timestamp({0})", "date datetime parsedate totimestamp time"),
    **_rows("ip({0})", "parseip ipaddress"),
    **_rows("cidr({0})", "parsecidr"),
    **_rows("math is not there: compare with ? and :", "abs ceil floor round pow sqrt"),
    **_rows(_NO_CLOCK, "now today currenttime utcnow timenow timenowutc"),
    **_rows(_NO_CODE, "base64 base64decode base64encode sha256 md5 hash tojson fromjson parsejson"),
}
# Functions of the namespaces of other languages, by namespace.
NAMESPACES = frozenset(
    ("strings", "string", "regex", "regexp", "math", "list", "array", "time", "net", "resource")
)
# Arguments and what macros do with them.
MACROS: Mapping[str, str] = {
    "all": "list.all(x, CONDITION)",
    "exists": "list.exists(x, CONDITION)",
    "exists_one": "list.exists_one(x, CONDITION)",
    "filter": "list.filter(x, CONDITION)",
    "map": "list.map(x, VALUE)",
}
_SENTENCES = ("CEL in", "math is")


def alias(name: str, operands: Iterable[str]) -> str:
    """Return what to write for a function of another language; empty if nothing is known."""
    template = ALIASES.get(name.replace("_", "").lower(), "")
    if not template:
        return ""
    if template.startswith(_SENTENCES):
        return template
    given = list(operands)
    if len(given) > 2:  # a macro: its arguments stay
        template = template.replace("x, …", ", ".join(given[1:]))
    return f"write {filled(template, [*given, *'xyz'[len(given) :]])}"
