package robots

// kind identifies the field of a line.
type kind uint8

const (
	unknown kind = iota
	userAgent
	allow
	disallow
	crawlDelay
	requestRate
	visitTime
	contentUsage
	contentSignal
	sitemap
	license
	cleanParam
	host
)

// grouped reports whether lines of this kind belong to the group in which they are. Other lines apply to the whole file.
func (k kind) grouped() bool { return k >= allow && k <= contentSignal }

// fieldOf returns the kind for a field's name as written, and whether it is misspelt. Names are case-insensitive (RFC 9309 section 2.2).
// Misspellings are accepted for every field except Allow, because a misspelt Allow could only permit URLs that the file forbids.
func fieldOf(name string) (kind, flags) {
	switch len(name) {
	case 5:
		if letters4(name) == letters4("allo") && name[4]|0x20 == 'w' {
			return allow, 0
		}
	case 8:
		if letters4(name) == letters4("disa") && letters4(name[4:]) == letters4("llow") {
			return disallow, 0
		}
	case 10:
		if letters4(name) == letters4("user") && name[4] == '-' && name[5]|0x20 == 'a' && letters4(name[6:]) == letters4("gent") {
			return userAgent, 0
		}
	}
	return otherField(name)
}

// letters4 returns the first four bytes of s in one number, in lower case if they are letters. No other byte becomes a letter.
func letters4(s string) uint32 {
	_ = s[3]
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) | 0x20202020
}

// longestField is the maximum length of a name that is looked up. All accepted spellings are shorter.
const longestField = 24

// otherField looks up a name by its letters alone, in lower case.
func otherField(name string) (kind, flags) {
	if len(name) > longestField {
		return unknown, 0
	}
	var buf [longestField]byte
	letters := buf[:0]
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			letters = append(letters, c|0x20)
		case c == '-' || c == '_' || c == ' ' || c == '\t':
		default:
			letters = append(letters, c)
		}
	}
	f, ok := fields[string(letters)]
	if !ok {
		return unknown, 0
	}
	if f.proper == "" || !foldEqual(name, f.proper) {
		return f.kind, misspelt
	}
	return f.kind, 0
}

type field struct {
	kind   kind
	proper string // the correct spelling; "" if the key of the table is already misspelt
}

// fields maps the letters of a field's name, correct or with a known misspelling, to its kind.
var fields = map[string]field{
	"crawldelay":    {crawlDelay, "crawl-delay"},
	"requestrate":   {requestRate, "request-rate"},
	"visittime":     {visitTime, "visit-time"},
	"contentusage":  {contentUsage, "content-usage"},
	"contentsignal": {contentSignal, "content-signal"},
	"sitemap":       {sitemap, "sitemap"},
	"license":       {license, "license"},
	"cleanparam":    {cleanParam, "clean-param"},
	"host":          {host, "host"},

	"useragent":    {userAgent, "user-agent"},
	"useragents":   {kind: userAgent},
	"usersagent":   {kind: userAgent},
	"useragen":     {kind: userAgent},
	"useragnet":    {kind: userAgent},
	"useraget":     {kind: userAgent},
	"useraagent":   {kind: userAgent},
	"useregent":    {kind: userAgent},
	"useagent":     {kind: userAgent},
	"usergent":     {kind: userAgent},
	"usreagent":    {kind: userAgent},
	"uesragent":    {kind: userAgent},
	"seragent":     {kind: userAgent},
	"disallow":     {disallow, "disallow"},
	"disallows":    {kind: disallow},
	"disallowed":   {kind: disallow},
	"disalow":      {kind: disallow},
	"disalllow":    {kind: disallow},
	"disallaw":     {kind: disallow},
	"disallo":      {kind: disallow},
	"disalllows":   {kind: disallow},
	"dissallow":    {kind: disallow},
	"dissalow":     {kind: disallow},
	"dissallows":   {kind: disallow},
	"diasllow":     {kind: disallow},
	"diallow":      {kind: disallow},
	"dsallow":      {kind: disallow},
	"disaloow":     {kind: disallow},
	"disllow":      {kind: disallow},
	"desallow":     {kind: disallow},
	"dissalllow":   {kind: disallow},
	"sitemaps":     {kind: sitemap},
	"sitmap":       {kind: sitemap},
	"crawldelays":  {kind: crawlDelay},
	"crawdelay":    {kind: crawlDelay},
	"craweldelay":  {kind: crawlDelay},
	"crawlerdelay": {kind: crawlDelay},
	"cleanparams":  {kind: cleanParam},
}
