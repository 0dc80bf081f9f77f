// Package consent reads a site's statements about the uses of its pages, and decides whether a page may be collected for a purpose. It has
// pure functions: they do no I/O, and have no clock and no state.
//
// Statements can be in many places: in robots.txt, in the header and META elements of a page, in files that these name, in the status of a
// response. [Read] combines them into one [Record], with each [Statement] as written. [Record.For] returns the verdict for the purposes of
// a crawl:
//
//	record := consent.Read(page)
//	verdict := record.For(consent.TrainAI)
//	if verdict.Refused() {
//		fmt.Println(verdict)
//	}
//
// The strictest statement decides, and all are kept, even those that are invalid or use unknown words. Such statements have no effect, and
// are never errors.
//
// # Vocabulary
//
// A statement is one sentence of a site about one use. A use is a word that sites use, such as train-ai. A purpose is that of a crawl. An
// effect is the meaning of a statement for a purpose. A license is an RSL document.
//
// The standards change. [Standards] returns the supported version of each.
package consent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/robots"
)

// Purpose is a purpose for which a crawl collects pages.
type Purpose uint8

// The purposes.
const (
	Archive  Purpose = iota // to keep pages as they were, for people to read later
	Research                // to study pages, without publishing the pages
	Search                  // to find pages by their words and link to the pages
	AIInput                 // to give pages to a model as input, as in retrieval-augmented generation
	TrainAI                 // to train or fine-tune models
	purposes
)

var purposeNames = [purposes]string{"archive", "research", "search", "ai-input", "train-ai"}

// Purposes returns all purposes, in a fixed order.
func Purposes() []Purpose { return []Purpose{Archive, Research, Search, AIInput, TrainAI} }

// String returns the name that [ParsePurpose] reads, such as "train-ai".
func (p Purpose) String() string {
	if p < purposes {
		return purposeNames[p]
	}
	return fmt.Sprintf("purpose %d", uint8(p))
}

// ParsePurpose returns the purpose with this name. The error lists the valid names.
func ParsePurpose(name string) (Purpose, error) {
	if i := slices.Index(purposeNames[:], name); i >= 0 {
		return Purpose(i), nil
	}
	return 0, fmt.Errorf("no purpose %q: use %s", name, strings.Join(purposeNames[:], ", "))
}

// Effect is the meaning of a statement for a purpose. Its values are in order of strictness, the least strict first.
type Effect uint8

// The effects.
const (
	Silent      Effect = iota // says nothing about the purpose
	Allows                    // allows the purpose
	Conditional               // allows the purpose on a condition that a user of the page can meet, such as attribution
	Unmet                     // allows the purpose on a condition that a crawl never meets, such as a payment
	Forbids                   // forbids the purpose
)

var effectNames = [...]string{"silent", "allows", "conditional", "unmet", "forbids"}

// String returns "silent", "allows", "conditional", "unmet" or "forbids".
func (e Effect) String() string { return effectNames[min(e, Forbids)] }

// Place says where a statement was found.
type Place string

// The places.
const (
	RobotsTxt Place = "robots.txt"
	Header    Place = "header"
	Meta      Place = "meta"
	TDMRep    Place = "tdmrep.json"
	RSL       Place = "licence" // an RSL document
	Status    Place = "status"  // a response with status 401 or 402
)

// Statement is one sentence of a site about one use of a page.
type Statement struct {
	Place     Place
	Document  string        // URL of the file that contains the statement; "": the response itself contains it
	Line      int           // line in robots.txt, from 1; elsewhere 0
	Name      string        // field, element or directive, such as "Content-Usage"
	Text      string        // statement as written; at most 1,024 bytes
	Use       string        // use in lower case, such as "train-ai"; "" if the statement is about access, or several uses
	Signal    robots.Signal // whether the statement allows or disallows Use; robots.Unsaid if neither
	Condition string        // condition, if an effect is Conditional or Unmet, such as "attribution"
	effects   [purposes]Effect
}

// Effect returns the meaning of the statement for a purpose.
func (s Statement) Effect(p Purpose) Effect {
	if p >= purposes {
		return Silent
	}
	return s.effects[p]
}

// String returns the statement with its place, such as "Content-Usage: train-ai=n (robots.txt, line 3)".
func (s Statement) String() string {
	at := string(s.Place)
	if s.Document != "" && s.Place == RSL {
		at = s.Document
	}
	if s.Line > 0 {
		at = fmt.Sprintf("%s, line %d", at, s.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", s.Name, s.Text, at)
}

// Cost is the price that a site asks for a page. This package only parses prices.
type Cost struct {
	Amount   string // a decimal number as written
	Currency string // currency in upper case, such as "USD", or name of an asset
	Per      string // unit of the price: "request", or a payment type of RSL, such as "crawl" or "training"
}

// Record holds all statements of a site about the uses of one page.
type Record struct {
	Statements []Statement
	Costs      []Cost

	strictest [purposes]Effect // strictest effect of all Statements, by purpose
}

// Verdict is the conclusion from a Record for the purposes of a crawl.
type Verdict struct {
	Purpose   Purpose    // purpose with the strictest effect
	Effect    Effect     // the strictest effect
	Statement *Statement // statement that decides; nil for [Silent]
	Use       string     // use in Policy.Uses that Statement disallows; "" if a purpose decides
}

// Policy holds the purposes and uses that decide whether a page is refused. Nothing else refuses pages.
type Policy struct {
	Purposes []Purpose // purposes of the crawl; none: Research
	Uses     []string  // uses in the words of sites, such as "train-ai": a page is refused if its site disallows any of these uses
}

// Judge returns the verdict about a record: that of [Record.For], or that of the first statement that disallows one of the uses.
func (p Policy) Judge(r Record) Verdict {
	v := r.For(p.Collects()...)
	if v.Refused() || len(p.Uses) == 0 {
		return v
	}
	for i := range r.Statements {
		s := &r.Statements[i]
		one := robots.Usage{Statements: []robots.Statement{{Use: s.Use, Signal: s.Signal}}}
		for _, use := range p.Uses {
			if one.For(use) == robots.Disallowed { // directly, or by a wider use: a reservation of text and data mining includes train-ai
				return Verdict{Purpose: v.Purpose, Effect: Forbids, Statement: s, Use: s.Use}
			}
		}
	}
	return v
}

// Collects returns the purposes of the policy, including the default. The list is never empty.
func (p Policy) Collects() []Purpose {
	if len(p.Purposes) == 0 {
		return []Purpose{Research}
	}
	return p.Purposes
}

// Obeys reports whether the policy has one of these purposes.
func (p Policy) Obeys(ps ...Purpose) bool {
	return slices.ContainsFunc(p.Collects(), func(x Purpose) bool { return slices.Contains(ps, x) })
}

// For returns the strictest verdict for the purposes. Of several statements that are equally strict, the first one decides. Without
// purposes, or without statements, the verdict is Silent.
func (r Record) For(ps ...Purpose) (v Verdict) {
	for _, p := range ps {
		for i := range r.Statements {
			if e := r.Statements[i].Effect(p); e > v.Effect {
				v = Verdict{Purpose: p, Effect: e, Statement: &r.Statements[i]}
			}
		}
	}
	return v
}

// Refused reports whether the page must not be collected for the purpose.
func (v Verdict) Refused() bool { return v.Effect >= Unmet }

// String returns the verdict as a sentence.
func (v Verdict) String() string {
	switch {
	case v.Use != "":
		return fmt.Sprintf("the use %s is disallowed by %s", v.Use, v.Statement)
	}
	switch v.Effect {
	case Silent:
		return "the site says nothing about it"
	case Allows:
		return fmt.Sprintf("%s is allowed by %s", v.Purpose, v.Statement)
	case Conditional:
		return fmt.Sprintf("%s is allowed on a condition (%s) by %s", v.Purpose, v.Statement.Condition, v.Statement)
	case Unmet:
		return fmt.Sprintf("%s needs what a crawl does not give (%s): %s", v.Purpose, v.Statement.Condition, v.Statement)
	}
	return fmt.Sprintf("%s is forbidden by %s", v.Purpose, v.Statement)
}

// add appends a statement, with its text cut to the maximum length. After the maximum number of statements, it adds only those that are
// stricter than all earlier ones. So no number of statements can hide a strict one.
func (r *Record) add(s Statement) {
	stricter := false
	for p, e := range s.effects {
		if e > r.strictest[p] {
			r.strictest[p], stricter = e, true
		}
	}
	if len(r.Statements) >= maxStatements && !stricter {
		return
	}
	s.Text = strings.ToValidUTF8(s.Text, "\ufffd")
	if len(s.Text) > MaxText {
		s.Text = strings.ToValidUTF8(s.Text[:MaxText], "")
	}
	r.Statements = append(r.Statements, s)
}

// MaxText is the maximum number of bytes of a statement's text. Longer text is cut.
const MaxText = 1024

const maxStatements = 4096 // maximum statements of a page; robots.txt, which comes first, has at most 1,024
