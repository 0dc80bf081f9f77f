package consent

import "github.com/amble-crawler/amble/robots"

// Standard is a document whose statements this package supports.
type Standard struct {
	Name    string
	Version string // version, as numbered by the authors
	Date    string // date of that version, as YYYY-MM-DD or a prefix of it
	URL     string
}

// Standards returns the documents with the versions that are supported.
func Standards() []Standard {
	return []Standard{
		{"Robots Exclusion Protocol", "RFC 9309", "2022-09", "https://www.rfc-editor.org/rfc/rfc9309"},
		{"Content-Usage, its place", "draft-ietf-aipref-attach-05", "2026-08-19", "https://datatracker.ietf.org/doc/draft-ietf-aipref-attach/05/"},
		{"Content-Usage, its words", "draft-ietf-aipref-vocab-08", "2026-09-13", "https://datatracker.ietf.org/doc/draft-ietf-aipref-vocab/08/"},
		{"Content-Signal", "draft-romm-aipref-contentsignals-00, and use of contentsignals.org", "2025-10", "https://datatracker.ietf.org/doc/draft-romm-aipref-contentsignals/00/"},
		{"Robots-Tag", "draft-illyes-repext-03", "2026-04-18", "https://datatracker.ietf.org/doc/draft-illyes-repext/03/"},
		{"TDM Reservation Protocol", "final community group report", "2024-05-10", "https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/"},
		{"Really Simple Licensing", "1.0", "2025-11-06", "https://rslstandard.org/rsl"},
		{"Pay per crawl", "documentation of Cloudflare", "2026-04-23", "https://developers.cloudflare.com/ai-crawl-control/features/pay-per-crawl/"},
	}
}

// uses maps each use to the purposes that it covers. A statement about the use applies only to these purposes.
var uses = map[string][]Purpose{
	robots.UseTrainAI: {TrainAI},
	robots.UseAI:      {AIInput},
	robots.UseSearch:  {Search},
	robots.UseTDM:     {TrainAI, AIInput}, // not Research: Directive (EU) 2019/790, article 3
}

// contentUses maps the levels of Content-Signal's use to their meaning: in which ways models may consume a page.
var contentUses = map[string]struct {
	means     [purposes]Effect
	condition string
}{
	"full":      {effects(Allows, AIInput, TrainAI), ""},
	"reference": {with(effects(Forbids, TrainAI), Conditional, AIInput), "as a reference: a link and a short excerpt"},
	"immediate": {with(effects(Forbids, TrainAI), Unmet, AIInput), "without keeping the page"},
}

// directives maps a page's robots directives to the purposes that they forbid.
var directives = map[string][]Purpose{
	"noindex":   {Search},
	"none":      {Search},
	"noai":      {TrainAI, AIInput},
	"noml":      {TrainAI},
	"nosnippet": {AIInput},                   // in Google's interpretation since 2024
	"noarchive": {Archive, TrainAI, AIInput}, // in Microsoft's interpretation since 2023
	"nocache":   {Archive, TrainAI},
}

// usageWords maps each purpose to the words in RSL's usage vocabulary that include the purpose.
var usageWords = [purposes][]string{
	Archive:  {"all"},
	Research: {"all"},
	Search:   {"all", "search"},
	AIInput:  {"all", "ai-all", "ai-input", "ai-index"},
	TrainAI:  {"all", "ai-all", "ai-train"},
}

// effects returns the effect e for these purposes, and Silent for all others.
func effects(e Effect, ps ...Purpose) (out [purposes]Effect) { return with(out, e, ps...) }

// with returns a copy of means in which these purposes have the effect e.
func with(means [purposes]Effect, e Effect, ps ...Purpose) [purposes]Effect {
	for _, p := range ps {
		means[p] = e
	}
	return means
}
