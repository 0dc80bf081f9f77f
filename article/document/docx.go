package document

import (
	"context"
	"encoding/xml"
	"html"
	"path"
	"strings"
)

// readDOCX reads a DOCX file (ISO 29500): the text of its main part, as a single page.
func (d *Document) readDOCX(ctx context.Context, body []byte) error {
	a, err := openArchive(body)
	if err != nil {
		return err
	}
	part := "word/document.xml"
	text, err := a.read(part)
	if err != nil {
		return err
	}
	if about, err := a.read("docProps/core.xml"); err == nil {
		facts := texts(about, "title", "creator", "language", "modified")
		d.Title, d.Author, d.Language, d.Modified = first(facts["title"]), strings.Join(facts["creator"], ", "), first(facts["language"]), first(facts["modified"])
	}
	w := wordReader{doc: d, targets: map[string]string{}, known: map[string]bool{}}
	if rels, err := a.read("word/_rels/" + path.Base(part) + ".rels"); err == nil {
		xmlTokens(rels, func(t xml.Token) bool {
			if e, ok := t.(xml.StartElement); ok && e.Name.Local == "Relationship" {
				w.targets[attribute(e, "Id")] = attribute(e, "Target")
			}
			return true
		})
	}
	n := 0
	xmlTokens(text, func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			w.start(t)
		case xml.EndElement:
			w.end(t.Name.Local)
		case xml.CharData:
			if w.inText {
				w.inline.WriteString(html.EscapeString(string(t)))
			}
		}
		n++
		return n%1024 != 0 || ctx.Err() == nil && w.out.Len() <= maxText
	})
	w.lists(0)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.add(w.out.String())
	return nil
}

// wordReader makes HTML of the tokens of a DOCX file.
type wordReader struct {
	doc     *Document
	targets map[string]string // targets of relationships, by ID
	known   map[string]bool   // URLs of the links found so far

	out    strings.Builder
	inline strings.Builder // text of the open paragraph
	inText bool
	style  string // style of the open paragraph
	level  int    // list level of the open paragraph; 0: not in a list
	open   int    // number of open lists
	linked bool
	tables int // number of open tables
	skip   int // number of open elements that are skipped, such as deleted text
}

func (w *wordReader) start(e xml.StartElement) {
	if w.skip > 0 || e.Name.Local == "del" || e.Name.Local == "Fallback" {
		w.skip++
		return
	}
	switch e.Name.Local {
	case "p":
		w.inline.Reset()
		w.style, w.level = "", 0
	case "pStyle":
		w.style = attribute(e, "val")
	case "numPr":
		w.level = max(w.level, 1)
	case "ilvl":
		if v := attribute(e, "val"); len(v) == 1 && v[0] >= '0' && v[0] <= '8' {
			w.level = int(v[0]-'0') + 1
		}
	case "t":
		w.inText = true
	case "tab", "br", "cr":
		w.inline.WriteByte(' ')
	case "hyperlink":
		if to := w.targets[attribute(e, "id")]; w.doc.link(to, w.known) {
			w.inline.WriteString(`<a href="` + html.EscapeString(strings.TrimSpace(to)) + `">`)
			w.linked = true
		}
	case "tbl":
		w.lists(0)
		w.tables++
		w.out.WriteString("<table>")
	case "tr", "tc":
		if w.tables > 0 {
			w.out.WriteString(map[string]string{"tr": "<tr>", "tc": "<td>"}[e.Name.Local])
		}
	}
}

func (w *wordReader) end(name string) {
	if w.skip > 0 {
		w.skip--
		return
	}
	switch name {
	case "p":
		w.paragraph()
	case "t":
		w.inText = false
	case "hyperlink":
		if w.linked {
			w.inline.WriteString("</a>")
			w.linked = false
		}
	case "tbl":
		if w.tables > 0 {
			w.lists(0)
			w.tables--
			w.out.WriteString("</table>\n")
		}
	case "tr", "tc":
		if w.tables > 0 {
			w.lists(0)
			w.out.WriteString(map[string]string{"tr": "</tr>", "tc": "</td>"}[name])
		}
	}
}

// paragraph writes the completed paragraph.
func (w *wordReader) paragraph() {
	text := strings.TrimSpace(w.inline.String())
	w.inline.Reset()
	if w.linked {
		text, w.linked = text+"</a>", false
	}
	if text == "" {
		return
	}
	w.lists(w.level)
	tag := "p"
	level, heading := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(w.style, " ", "")), "heading")
	switch {
	case w.level > 0:
		tag = "li"
	case w.style == "Title":
		tag = "h1"
	case heading && len(level) == 1 && level[0] >= '1' && level[0] <= '6':
		tag = "h" + level
	}
	if w.out.WriteString("<" + tag + ">" + text); w.level == 0 { // w.lists ends the items of lists
		w.out.WriteString("</" + tag + ">\n")
	}
}

// lists opens or closes lists until n are open. An inner list is inside the item before it.
func (w *wordReader) lists(n int) {
	if w.open > 0 && n <= w.open {
		w.out.WriteString("</li>")
	}
	for ; w.open < n; w.open++ {
		if w.out.WriteString("<ul>"); w.open+1 < n {
			w.out.WriteString("<li>")
		}
	}
	for ; w.open > n; w.open-- {
		if w.out.WriteString("</ul>\n"); w.open > 1 {
			w.out.WriteString("</li>")
		}
	}
}
