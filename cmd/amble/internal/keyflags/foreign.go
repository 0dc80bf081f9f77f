package keyflags

import (
	"slices"
	"strings"
)

// foreign lists flags of wget, curl, Scrapy and other crawlers, with the equivalents here.
var foreign = []struct{ flags, here string }{
	{"user-agent U", "use --agent NAME/VERSION, with --contact"},
	{"A", "use --accept TYPE, as in --accept application/pdf, to keep some types, --agent NAME/VERSION for a user agent"},
	{"level l max-depth depth-limit", "use --depth N"},
	{"recursive r", "leave it out: a crawl follows links; --depth says how many"},
	{"mirror m", "say amble mirror URL DIR"},
	{"wait download-delay sleep", "use --delay D"},
	{"random-wait", "use --delay D; slow sites are given longer pauses anyway"},
	{"rate-limit", "use --delay D for each host, --rate R for all together"},
	{"limit-rate max-rate", "use --delay D: there is one request at a time to a host"},
	{"no-parent np stay-on-same-dir", "use --scope prefix"},
	{"n", "for -np use --scope prefix, for -nv use --quiet"},
	{"domains D allowed-domains", "use --scope domain, or further seeds"},
	{"domain stay-on-same-domain field-scope fs", "use --scope domain"},
	{"span-hosts go-everywhere", "use --beyond 1, or --scope any with a limit"},
	{"accept-regex crawl-scope cs", "use --include RE"},
	{"reject-regex reject crawl-out-scope cos extension-filter ef", "use --exclude RE"},
	{"quota Q max-size", "use --max-bytes SIZE"},
	{"limit", "use --max-pages N, --max-bytes SIZE or --max-time D"},
	{"pages", "use --max-pages N"},
	{"tries t retry", "use --retries N: attempts after the first"},
	{"timeout T", "use --fetch-timeout D"},
	{"read-timeout", "use --idle-timeout D"},
	{"max-redirect max-redirs", "use --max-redirects N"},
	{"location L", "leave it out: redirects are followed, each as a URL of its own"},
	{"input-file url-file list urllist", "use --seeds FILE"},
	{"output O output-document", "use -o DIR for a job directory; otherwise visits go to stdout: >FILE"},
	{"output-file logfile", "messages go to stderr: 2>FILE"},
	{"P directory-prefix path", "use -o DIR; for a copy to read offline say amble mirror URL DIR"},
	{"continue resume", "say amble resume DIR"},
	{"timestamping N", "use --since DIR"},
	{"p page-requisites near", "use --follow resources"},
	{"warc-dedup", "nothing is needed: an answer that is stored already is a revisit record"},
	{"post-data post-file", "nothing sends forms but a program: the cookbook has one that logs in"},
	{"warc-file store-response sr", "use -o DIR --archive"},
	{"spider", "leave it out: every visit has its status; for broken links, say amble check URL"},
	{"sitemap known-files kf", "use --follow sitemaps"},
	{"k", "for a copy to read offline, as in wget, say amble mirror URL DIR; for certificates, as in curl, use --insecure-hosts HOST"},
	{"insecure no-check-certificate", "use --insecure-hosts HOST"},
	{"threads workers jobs parallel parallelism sockets", "use --concurrency N; to one host there is one request at a time"},
	{"convert-links", "say amble mirror URL DIR: the links of its pages lead to files"},
	{"robots no-robots ignore-robots execute", "nothing turns robots.txt off"},
	{"e", "nothing turns robots.txt off; to keep files of some types, as em does in katana, use --accept TYPE"},
	{"set s", "use the flag of the setting, which amble help crawl lists; for silent, --quiet"},
	{"urls f csv", "after the crawl say amble export JOB, with the kind: urls for a list, csv, parquet, sqlite or another"},
	{"markdown", "use --text, or for one page say amble text URL"},
	{"silent nolog", "use --quiet"},
	{"loglevel", "use --verbose or --quiet"},
	{"extension-match em", "use --accept TYPE, as in --accept application/pdf"},
	{"ext-depth", "use --beyond N"},
	{"connection-per-second", "use --delay D for each host, --rate R for all together"},
	{"max-files", "use --max-body SIZE"},
	{"crawl-duration ct", "use --max-time D"},
	{"js-crawl jc headless hl", "use --render auto"},
	{"headers", "use --header 'Name: value'"},
	{"jsonl j", "leave it out: in a pipe visits are JSON lines; on a terminal use --json"},
	{"update", "say amble mirror DIR"},
	{"testlinks", "say amble check URL"},
	{"cookie b cookie-jar", "use --cookies=FILE"},
	{"save-cookies keep-session-cookies", "use -o DIR --cookies=keep"},
	{"user u http-user http-password", "use --header 'Authorization: env:NAME'"},
}

// foreignCommands lists words that users may try as commands, with the equivalents here.
var foreignCommands = []struct{ words, here string }{
	{"clone copy", "for a copy to read offline, say amble mirror URL DIR"},
	{"spider scrape fetch get", "say amble crawl URL"},
	{"download grab", "say amble mirror URL DIR for a copy to read offline, amble crawl -o DIR --archive URL for an archive"},
	{"linkcheck checklinks lint", "say amble check URL"},
	{"sitemap", "to read sitemaps, say amble crawl --follow sitemaps URL"},
}

// equivalentCommand returns the amble command for a command name of other tools; "" if unknown.
func equivalentCommand(word string) string {
	for _, e := range foreignCommands {
		if slices.Contains(strings.Fields(e.words), word) {
			return e.here
		}
	}
	return ""
}

// equivalent returns the equivalent of another program's flag, given without hyphens; "" if unknown.
func equivalent(flag string) string {
	for _, e := range foreign {
		if slices.Contains(strings.Fields(e.flags), flag) {
			return e.here
		}
	}
	return ""
}

// ForeignFlags yields the known flags of other programs with their equivalents.
func ForeignFlags(yield func(flag, here string) bool) {
	for _, e := range foreign {
		for _, flag := range strings.Fields(e.flags) {
			if !yield(flag, e.here) {
				return
			}
		}
	}
}
