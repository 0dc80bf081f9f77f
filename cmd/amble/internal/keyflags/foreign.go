package keyflags

import (
	"slices"
	"strings"
)

// foreign lists flags of wget, curl, Scrapy and other crawlers with what does the same here.
var foreign = []struct{ flags, here string }{
	{"user-agent U", "use --agent NAME/VERSION, with --contact"},
	{"A", "use --accept TYPE, as in --accept application/pdf, to keep some types, --agent NAME/VERSION for a user agent"},
	{"level l max-depth depth-limit", "use --depth N"},
	{"recursive r", "leave it out: a crawl follows links; --depth says how many"},
	{"mirror m", "say amble mirror URL DIR"},
	{"wait download-delay sleep", "use --delay D"},
	{"random-wait", "use --delay D; slow sites are given longer pauses anyway"},
	{"rate-limit", "use --delay D for each host, --rate R for all together"},
	{"limit-rate", "use --delay D: there is one request at a time to a host"},
	{"no-parent np", "use --scope prefix"},
	{"n", "for -np use --scope prefix, for -nv use --quiet"},
	{"domains D allowed-domains", "use --scope domain, or further seeds"},
	{"domain", "use --scope domain"},
	{"span-hosts", "use --beyond 1, or --scope any with a limit"},
	{"accept-regex", "use --include RE"},
	{"reject-regex reject", "use --exclude RE"},
	{"quota Q", "use --max-bytes SIZE"},
	{"limit", "use --max-pages N, --max-bytes SIZE or --max-time D"},
	{"pages", "use --max-pages N"},
	{"tries t", "use --retries N: attempts after the first"},
	{"timeout T", "use --fetch-timeout D"},
	{"read-timeout", "use --idle-timeout D"},
	{"max-redirect max-redirs", "use --max-redirects N"},
	{"location L", "leave it out: redirects are followed, each as a URL of its own"},
	{"input-file url-file", "use --seeds FILE"},
	{"output O output-document", "use -o DIR for a job directory; otherwise visits go to stdout: >FILE"},
	{"output-file logfile", "messages go to stderr: 2>FILE"},
	{"P directory-prefix", "use -o DIR"},
	{"continue resume", "say amble resume DIR"},
	{"timestamping N", "use --since DIR"},
	{"p page-requisites", "use --follow resources"},
	{"warc-file", "use -o DIR --archive"},
	{"spider", "leave it out: every visit has its status; for broken links, say amble check URL"},
	{"sitemap", "use --follow sitemaps"},
	{"k", "for a copy to read offline, as in wget, say amble mirror URL DIR; for certificates, as in curl, use --insecure-hosts HOST"},
	{"insecure no-check-certificate", "use --insecure-hosts HOST"},
	{"threads workers jobs parallel", "use --concurrency N; to one host there is one request at a time"},
	{"convert-links", "say amble mirror URL DIR: the links of its pages lead to files"},
	{"robots no-robots ignore-robots execute e", "nothing turns robots.txt off"},
	{"set s", "each setting is a flag of its own: see amble help crawl"},
	{"silent", "use --quiet"},
	{"cookie b cookie-jar", "use --cookies=FILE"},
	{"save-cookies", "use -o DIR --cookies=keep"},
	{"user u http-user http-password", "use --header 'Authorization: env:NAME'"},
}

// foreignCommands are words that people try as commands, with what does it here.
var foreignCommands = []struct{ words, here string }{
	{"clone copy", "for a copy to read offline, say amble mirror URL DIR"},
	{"spider scrape fetch get", "say amble crawl URL"},
	{"download grab", "say amble crawl -o DIR --archive URL, and for a copy to read offline amble mirror URL DIR"},
	{"linkcheck checklinks lint", "say amble check URL"},
	{"sitemap", "to read sitemaps, say amble crawl --follow sitemaps URL"},
}

// equivalentCommand returns the command here for a word that people try as one; "" if nothing is known of it.
func equivalentCommand(word string) string {
	for _, e := range foreignCommands {
		if slices.Contains(strings.Fields(e.words), word) {
			return e.here
		}
	}
	return ""
}

// equivalent returns what does here what a flag of another program does, which is given without its hyphens; "" if nothing is
// known of it.
func equivalent(flag string) string {
	for _, e := range foreign {
		if slices.Contains(strings.Fields(e.flags), flag) {
			return e.here
		}
	}
	return ""
}

// ForeignFlags yields the flags of other programs that are known, with what does the same here.
func ForeignFlags(yield func(flag, here string) bool) {
	for _, e := range foreign {
		for _, flag := range strings.Fields(e.flags) {
			if !yield(flag, e.here) {
				return
			}
		}
	}
}
