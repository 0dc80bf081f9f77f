package sink

import "time"

// Terms holds a site's statements about the uses of a page, and their effect on the crawl. A Record has Terms if the site made such
// statements.
type Terms struct {
	// Effect is the verdict: silent, allows, conditional, unmet or forbids. With unmet and forbids, the page was refused.
	Effect     string      `json:"effect"`
	Purpose    string      `json:"purpose,omitempty"` // purpose of the crawl with the strictest effect
	Use        string      `json:"use,omitempty"`     // use that the crawl obeys and that statement By disallows; "" if a purpose decided
	By         int         `json:"by,omitempty"`      // number of the deciding statement, from 1; 0: none
	Statements []Statement `json:"statements"`        // statements from all places, in the order in which they were read
	Files      []TermsFile `json:"files,omitempty"`   // files that were read for the statements
	Costs      []Cost      `json:"costs,omitempty"`   // prices that the site asks for; nothing is ever paid
}

// Statement is one statement of a site about the uses of a page. The effects are its meaning for each purpose: allows, conditional, unmet
// or forbids; "" if it says nothing about the purpose.
type Statement struct {
	Place     string `json:"place"`               // robots.txt, header, meta, tdmrep.json, licence or status
	Document  string `json:"document,omitempty"`  // URL of the file; "": the response itself
	Line      int    `json:"line,omitempty"`      // line in robots.txt, from 1
	Name      string `json:"name"`                // name of the field, element or directive
	Text      string `json:"text"`                // statement as written, at most 1,024 bytes
	Use       string `json:"use,omitempty"`       // use, such as train-ai
	Condition string `json:"condition,omitempty"` // condition, if an effect is conditional or unmet
	Archive   string `json:"archive,omitempty"`
	Research  string `json:"research,omitempty"`
	Search    string `json:"search,omitempty"`
	AIInput   string `json:"ai_input,omitempty"`
	TrainAI   string `json:"train_ai,omitempty"`
}

// Decisive returns the statement that decides the verdict; nil if there is none or t is nil.
func (t *Terms) Decisive() *Statement {
	if t == nil || t.By < 1 || t.By > len(t.Statements) {
		return nil
	}
	return &t.Statements[t.By-1]
}

// File returns the file that contains a statement; nil if the response itself contains it.
func (t *Terms) File(s *Statement) *TermsFile {
	for i := range t.Files {
		if f := &t.Files[i]; s.Document != "" && f.URL == s.Document {
			return f
		}
	}
	return nil
}

// TermsFile is a file that was read for the terms of a page: robots.txt, an RSL document or tdmrep.json.
type TermsFile struct {
	URL     string    `json:"url"`
	Status  int       `json:"status,omitempty"` // status of the response, 0 without one
	Fetched time.Time `json:"fetched,omitzero"`
	SHA256  string    `json:"sha256,omitempty"` // hash of the body, hexadecimal
	Error   string    `json:"error,omitempty"`  // reason why the file could not be read
}

// Cost is a price that a site asks for.
type Cost struct {
	Amount   string `json:"amount"`   // decimal number, as written
	Currency string `json:"currency"` // in upper case, or the name of an asset
	Per      string `json:"per"`      // unit of the price: request, or a payment type of RSL
}
