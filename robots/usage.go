package robots

import "strings"

// Signal is a site's preference about one use of its pages. It neither permits nor forbids crawling; a [Verdict] does.
type Signal uint8

// The signals.
const (
	Unsaid     Signal = iota // the site states no preference, or none that can be read
	Allowed                  // the site allows the use
	Disallowed               // the site does not want the use
)

// String returns "unknown", "allow" or "disallow".
func (s Signal) String() string {
	switch s {
	case Allowed:
		return "allow"
	case Disallowed:
		return "disallow"
	}
	return "unknown"
}

// Origin names the place of a directive or signal: "robots.txt", "header" or "meta".
type Origin string

const (
	originRobots Origin = "robots.txt"
	originHeader Origin = "header"
	originMeta   Origin = "meta"
)

// Names of uses. Sites may use other names.
const (
	UseTrainAI      = "train-ai"       // training generative models; Content-Signal's ai-train, noai, noml
	UseAI           = "ai-use"         // as input of a model; Content-Signal's ai-input
	UseSearch       = "search"         // a search index that links to the page
	UseTDM          = "tdm"            // text and data mining (TDMRep); includes train-ai
	UseTrainAIImage = "train-ai-image" // training with the page's images (noimageai); part of train-ai
)

// Statement is one preference of a site about one use.
type Statement struct {
	Use    string
	Signal Signal // Allowed or Disallowed; Unsaid if Value is set
	Origin Origin
	Name   string // name of the field, header or directive, such as "Content-Usage"
	Line   int    // 1-based line in robots.txt; 0 elsewhere
	Text   string // the value of the field as written
	Value  string // value of this use as written, if it means neither yes nor no, such as in Content-Signal: use=reference
}

// Usage holds a site's preferences about the uses of one page.
type Usage struct {
	Statements []Statement
	TDMPolicy  string // URL of the licensing policy that accompanies a tdm-reservation, as written
}

// For returns the signal for a use: Disallowed if any statement disallows it, otherwise Allowed if any allows it (draft-ietf-aipref-vocab
// section 5.1). A statement about text and data mining also applies to train-ai, and a statement about train-ai to train-ai-image. use
// may be a name of Content-Signal.
func (u Usage) For(use string) Signal {
	best := Unsaid
	for use = canonUse(use); use != ""; use = wider(use) {
		for _, s := range u.Statements {
			if s.Use == use {
				best = max(best, s.Signal)
			}
		}
	}
	return best
}

// wider returns the use that includes the given one, or "".
func wider(use string) string {
	switch use {
	case UseTrainAIImage:
		return UseTrainAI
	case UseTrainAI:
		return UseTDM
	}
	return ""
}

// canonUse returns the canonical name of a use.
func canonUse(use string) string {
	switch use = strings.ToLower(use); use {
	case "ai-train":
		return UseTrainAI
	case "ai-input":
		return UseAI
	}
	return use
}

// PageUsage collects the preferences about one page: from the Content-Usage and Content-Signal lines of its robots.txt (group, which may
// be nil, and the page's path and query), from its headers (keys in canonical form, as in net/http), from its META elements, and from the
// directives noai, noimageai and noml in d.
func PageUsage(group *Group, pathQuery string, header map[string][]string, metas []Meta, d Directives) Usage {
	var u Usage
	if group != nil {
		u.Statements = group.Usage(pathQuery)
	}
	u.readHeaders(header)
	u.readTDM(header, metas)
	u.readTerms(d)
	return u
}

// readHeaders reads the Content-Usage headers (draft-ietf-aipref-attach section 2), and Content-Signal if it is sent as a header.
func (u *Usage) readHeaders(header map[string][]string) {
	for _, k := range [...]kind{contentUsage, contentSignal} {
		name := k.String()
		values := header[name]
		if len(values) == 0 {
			continue
		}
		joined := strings.Join(values, ", ")
		if prefs, ok := preferences(k, joined); ok {
			u.add(prefs, Statement{Origin: originHeader, Name: name, Text: joined})
		}
	}
}

// add appends a statement for each preference.
func (u *Usage) add(prefs []preference, proto Statement) {
	for _, p := range prefs {
		proto.Use, proto.Signal, proto.Value = p.use, p.signal, p.value
		u.Statements = append(u.Statements, proto)
	}
}

// readTDM reads the TDM Reservation Protocol (W3C community group report of 10 May 2024): META elements have precedence over headers. Of
// several elements or several headers, one that reserves rights applies or, if there is none, one that can be read. The file
// /.well-known/tdmrep.json, which has the lowest precedence, is not read here.
func (u *Usage) readTDM(header map[string][]string, metas []Meta) {
	s := Statement{Use: UseTDM, Name: "tdm-reservation", Origin: originMeta}
	var contents []string
	for _, m := range metas {
		if foldEqual(strings.TrimSpace(m.Name), s.Name) {
			contents = append(contents, m.Content)
		}
	}
	if s.Signal, s.Text = reservation(contents); s.Signal == Unsaid {
		s.Origin = originHeader
		s.Signal, s.Text = reservation(header["Tdm-Reservation"])
	}
	if s.Signal == Unsaid {
		return
	}
	u.Statements = append(u.Statements, s)
	if s.Signal == Disallowed {
		u.TDMPolicy = strings.TrimSpace(metaContent(metas, "tdm-policy"))
		if u.TDMPolicy == "" {
			u.TDMPolicy = strings.TrimSpace(first(header["Tdm-Policy"]))
		}
	}
}

// reservation returns the strictest signal of several values, and its text.
func reservation(values []string) (signal Signal, text string) {
	for _, v := range values {
		switch strings.TrimSpace(v) {
		case "1":
			return Disallowed, v
		case "0":
			signal, text = Allowed, v
		}
	}
	return signal, text
}

func metaContent(metas []Meta, name string) string {
	for _, m := range metas {
		if foldEqual(strings.TrimSpace(m.Name), name) {
			return m.Content
		}
	}
	return ""
}

// readTerms reads the robots directives about uses.
func (u *Usage) readTerms(d Directives) {
	for _, t := range d.terms {
		var use string
		switch t.name {
		case "noai", "noml":
			use = UseTrainAI
		case "noimageai":
			use = UseTrainAIImage
		default:
			continue
		}
		u.Statements = append(u.Statements, Statement{
			Use: use, Signal: Disallowed, Origin: t.source, Name: t.name, Text: t.name,
		})
	}
}
