package main

import (
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// firstWeek has the keys whose flags --help shows, with shorter help texts; "" keeps the usual text. Only --help-all shows the other flags.
var firstWeek = map[string]string{
	"config":        "Job file (YAML) with flags as keys.",
	"contact":       "Page or mail address where site owners reach you.",
	"seeds":         "Read further seeds, one a line; - is stdin.",
	"depth":         "Links followed from a seed (5).",
	"scope":         "How far: host, domain, prefix or any (host).",
	"include":       "Take in links that match; the last rule wins.",
	"exclude":       "Leave out URLs that match.",
	"accept":        "Keep only these media types; follow HTML.",
	"follow":        "Also sitemaps, feeds, resources, nofollow.",
	"allow-address": "Private address ranges that may be requested.",
	"delay":         "Pause between two requests to a host (1s).",
	"max-pages":     "Pages fetched, exactly (1000).",
	"max-time":      "Time until the last request starts (none).",
	"out":           "Keep the crawl in this directory.",
	"no-keep":       "Keep nothing but what goes to stdout.",
	"archive":       "Also archive the traffic, as WARC.",
	"json":          "",
	"quiet":         "",
	"listen":        "Serve a page to watch and control the crawl.",
	"print-config":  "Print all values and their origins, and stop.",
}

// shownOnly lists the keys that --help shows for some commands instead of firstWeek.
var shownOnly = map[string]map[string]bool{
	"check": checkShown, "mirror": mirrorShown, "capture": captureShown, "explain": {"contact": true, "scope": true, "include": true, "exclude": true, "allow-address": true},
}

// otherDefaults are the help texts of flags whose defaults differ from those of a crawl, by command.
var otherDefaults = map[string]map[string]string{
	"check":  {"follow": "Also sitemaps, feeds, resources, nofollow; none (resources).", "depth": "Links followed from a seed (none).", "max-pages": "Pages and files requested, exactly (10000)."},
	"mirror": mirrorDefaults, "capture": captureDefaults,
	"serve": {"listen": "Address to listen on (127.0.0.1:8420).", "contact": "Page or mail address for site owners, in jobs that give none.", "allow-address": "Private address ranges that jobs may request (none)."},
	"mcp":   {"listen": "Serve HTTP at this address, with the path /mcp (stdin and stdout).", "contact": "Page or mail address for site owners. Required unless all URLs are on loopback.", "allow-address": "Private address ranges that agents may reach (none)."},
	"crawl": {"plan": "Say how long the crawl takes, and stop.", "json": "Print visits and the summary as JSON.", "quiet": "Print no status, log or summary; keep nothing."},
}

// rare lists flags that belong to no key and that the help of some commands omits, by command.
var rare = map[string][]string{
	"crawl":   {"fresh", "commented", "service", "simulate", "job", "shards", "replicas", "lease", "max-skew", "cluster", "cluster-creds", "cluster-ca", "cluster-cert", "cluster-key", "listen-token", "debug"},
	"resume":  {"cluster", "cluster-creds", "cluster-ca", "cluster-cert", "cluster-key", "listen-token", "debug"},
	"create":  {"cluster-creds", "cluster-ca", "cluster-cert", "cluster-key"},
	"explain": {"base", "seed"},
	"work":    {"browser", "render-isolation", "listen", "routes-listen", "routes", "insecure", "tls-cert", "tls-key", "tls-ca"},
}

// hideRare hides the flags of a crawl that are not in firstWeek, and sets the shorter help texts. It is a kong.PostBuild hook.
func hideRare(k *kong.Kong) error {
	for _, cmd := range append(k.Model.Leaves(false), k.Model.Children...) {
		ofCluster := cmd.Parent != nil && cmd.Parent.Name == "cluster"
		crawls := slices.ContainsFunc(cmd.Flags, func(f *kong.Flag) bool { return f.Name == "contact" || f.Name == "log-format" && !ofCluster })
		for _, f := range cmd.Flags {
			short, needed := firstWeek[f.Name]
			if only := shownOnly[cmd.Name]; only != nil && f.Name != "config" {
				needed = only[f.Name]
			}
			switch {
			case crawls && !needed && (job.KeyNamed(f.Name) != nil || job.ShorthandNamed(f.Name) != nil), slices.Contains(rare[cmd.Name], f.Name):
				f.Hidden = true
			case crawls && short != "":
				f.Help = short
			}
		}
	}
	return sayDefaults(k)
}

// sayDefaults sets the help texts of flags whose defaults differ in a command. It is a kong.PostBuild hook.
func sayDefaults(k *kong.Kong) error {
	for _, cmd := range k.Model.Children {
		for _, f := range cmd.Flags {
			if text := otherDefaults[cmd.Name][f.Name]; text != "" {
				f.Help = text
			}
		}
	}
	return nil
}
