package job

import (
	"slices"
	"strings"
)

// groupTitles are the headings of a commented job file. Consecutive groups in the list of keys may share a heading.
var groupTitles = map[Group]string{
	Who: "Who crawls.", Command: "", Reach: "How far from the seeds.", InScope: "Which URLs belong to the crawl.",
	Pace: "How politely. A site can lengthen a pause, never shorten it.", Amount: "How much.",
	Access: "What sites are shown by whom they gave access to.", State: "What is kept from one request for later ones.", Network: "How requests are sent.", Output: "What is written.",
}

const commentedHead = `# A job file for amble.
#
# These are all keys, with their defaults. A key that begins with # is not set: take the # away and
# change the value. A flag of the same name, or an environment variable (AMBLE_MAX_PAGES for max-pages),
# overrides a key. Counts, sizes and durations may be none: no limit. "Resume:" says how a key may
# differ when a job is resumed.

# Seeds: the URLs at which the crawl begins.
`

// sampleSeed is the seed in a commented job file without seeds.
const sampleSeed = "https://site.to.crawl/"

// commentWidth is the column at which comments are wrapped.
const commentWidth = 100

// Commented returns a job file with every key and its meaning. Keys that have their default value are commented out.
func (all Settings) Commented(urls Setting) string {
	var b strings.Builder
	b.WriteString(commentedHead)
	writeSetting(&b, KeyURLs, list{}, urls.Values, []string{sampleSeed})
	var group Group
	for _, k := range keys {
		if k.Group != group && groupTitles[k.Group] != "" {
			b.WriteString("\n\n# ---- " + groupTitles[k.Group] + "\n")
			group = k.Group
		}
		b.WriteByte('\n')
		writeComment(&b, k.explained())
		s, _ := all.Get(k.Name)
		if s.Origin == "default" {
			s.Values = nil
		}
		writeSetting(&b, k.Name, k.form, s.Values, k.Default().Values)
	}
	return b.String()
}

// explained returns the meaning of the key and when it may be changed.
func (k *Key) explained() string {
	def := k.Default()
	doc := strings.Replace(k.DocWith(func(name string) string { return name }), " (${default})", "", 1)
	doc = strings.ReplaceAll(doc, "${default}", def.Text())
	if k.Freedom != Shown {
		doc += " Resume: " + k.Freedom.String() + "."
	}
	return doc
}

// writeComment writes text as lines of a comment.
func writeComment(b *strings.Builder, text string) {
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > commentWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// writeSetting writes a key with its values. If it has its default values, the line is a comment.
func writeSetting(b *strings.Builder, name string, f form, values, def []string) {
	mark := ""
	if len(values) == 0 {
		mark, values = "#", def
	}
	switch {
	case (name == keyOverrides || name == keyHosts) && slices.Equal(values, []string{""}), f.kind() == List && len(values) == 0:
		b.WriteString(mark + name + ": []\n")
	case f.kind() == List:
		b.WriteString(mark + name + ":\n")
		for _, v := range values {
			b.WriteString(mark + "  - " + plainScalar(v) + "\n")
		}
	case f.kind() == Text && name != keyOverrides && name != keyHosts:
		b.WriteString(mark + name + ": " + plainScalar(one(values)) + "\n")
	default:
		b.WriteString(mark + name + ": " + one(values) + "\n")
	}
}
