package article

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Markdown returns the main text as CommonMark 0.31 with GitHub's tables, task lists and strikethrough. Text is escaped, so all markup in
// the result comes from the page's elements. Lists and quotations that are nested more than eight deep are written as if eight deep. Time
// and output length are linear in the size of the tree.
func (a *Article) Markdown() string {
	if a.Tree == nil {
		return ""
	}
	w := mdWriter{resolve: a.resolve}
	w.node(a.Tree)
	w.flush()
	return w.out.String()
}

// maxNesting limits how many lists and quotations are open, because every line repeats the marks of all that contain it.
const maxNesting = 8

const quoteMark = "> "

// mdWriter writes Markdown. It collects inline text in line until a block ends.
type mdWriter struct {
	resolve func(ref string) string // makes a URL absolute; returns "" if it is no link
	out     strings.Builder
	levels  []*mdLevel // open lists and quotations, outermost first
	rule    bool       // whether a thematic break precedes the next block

	line   strings.Builder
	gap    bool     // whether white space precedes the next letter
	broke  bool     // whether a line break precedes the next letter
	marks  []mdMark // marks of open emphasis and links
	ends   []string // end marks that are not written yet
	due    int      // of ends, the number of last marks that are not written yet
	cell   bool     // whether the line is a cell of a table
	keeps  bool     // whether the line is a heading, which ends only with its element
	linked bool     // whether the text is inside a link
}

// mdLevel is a list item or a quotation that is open.
type mdLevel struct {
	first, rest string // prefixes of the first line and of further lines
	begun       bool
	tight       bool // no empty line comes before it
}

func (w *mdWriter) node(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.text(n.Data)
	case n.Type != html.ElementNode && n.Type != html.DocumentNode:
	case w.cell && breaks(n.DataAtom):
		w.gap = true
		w.inside(n)
		w.gap = true
	case n.DataAtom == atom.Br && w.broke && !w.keeps: // the second line break in a row makes an empty line
		w.flush()
	case n.DataAtom == atom.Br:
		w.broke, w.gap = !w.cell, true
	case n.DataAtom == atom.Input:
		w.task(n)
	case n.DataAtom == atom.A:
		w.link(n)
	case n.DataAtom == atom.Img:
		w.image(n)
	case codeSpan(n.DataAtom):
		w.code(n)
	case emphasis[n.DataAtom] != "":
		w.between(n, mdMark{emphasis[n.DataAtom], emphasis[n.DataAtom]})
	case n.Type == html.DocumentNode || breaks(n.DataAtom):
		w.block(n)
	default:
		w.inside(n)
	}
}

func (w *mdWriter) inside(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// block writes a block element, separated from its neighbours.
func (w *mdWriter) block(n *html.Node) {
	w.flush()
	switch n.DataAtom {
	case atom.Pre, atom.Listing, atom.Xmp:
		w.pre(n)
	case atom.Blockquote:
		w.within(&mdLevel{first: quoteMark, rest: quoteMark}, n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		w.list(n)
	case atom.Dt:
		w.between(n, mdMark{"**", "**"})
	case atom.Table:
		if rows, ok := gridOf(n); ok {
			w.table(n, rows)
		} else {
			w.inside(n)
		}
	case atom.Hr:
		w.rule = w.out.Len() > 0
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.keeps = true
		w.inside(n)
		w.keeps = false
		if text := strings.ReplaceAll(w.take(), "\n", " "); text != "" {
			w.lines(strings.Repeat("#", int(n.Data[1]-'0')) + " " + text)
		}
	default:
		w.inside(n)
	}
	w.flush()
}

// list writes a list. Content that is not in an item becomes a separate block. Items are separated by empty lines if one has several
// blocks.
func (w *mdWriter) list(n *html.Node) {
	number := 0
	if start, err := strconv.Atoi(attr(n, "start")); err == nil && start > 0 && start < 1e6 {
		number = start - 1
	}
	began, nested, loose := false, len(w.levels) > 0 && w.levels[len(w.levels)-1].rest != quoteMark, loose(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.DataAtom != atom.Li {
			w.node(c)
			continue
		}
		if number++; n.DataAtom == atom.Ol {
			if value, err := strconv.Atoi(attr(c, "value")); err == nil && value > 0 && value < 1e6 {
				number = value
			}
		}
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
		}
		w.within(&mdLevel{first: mark, rest: strings.Repeat(" ", len(mark)), tight: began && !loose || !began && nested}, c)
		began = true
	}
}

// loose reports whether an item of a list has several blocks, not counting lists.
func loose(list *html.Node) bool {
	for item := list.FirstChild; item != nil; item = item.NextSibling {
		blocks, inline := 0, false
		for c := item.FirstChild; c != nil && item.DataAtom == atom.Li; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode && blank(c.Data) || c.Type == html.CommentNode:
			case c.Type == html.ElementNode && breaks(c.DataAtom):
				inline = false
				if !isList(c.DataAtom) {
					blocks++
				}
			case !inline:
				inline = true
				blocks++
			}
		}
		if blocks > 1 {
			return true
		}
	}
	return false
}

func isList(a atom.Atom) bool {
	return a == atom.Ul || a == atom.Ol || a == atom.Menu || a == atom.Dir
}

// task writes the checkbox of a task list at the beginning of an item.
func (w *mdWriter) task(n *html.Node) {
	if n.Parent == nil || !isTask(n) || w.line.Len() > 0 || w.cell {
		return
	}
	mark := "[ ]"
	if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "checked" }) {
		mark = "[x]"
	}
	w.begin()
	w.line.WriteString(mark)
	w.gap = true
}

// within writes the content of an element at the deeper level l.
func (w *mdWriter) within(l *mdLevel, n *html.Node) {
	w.flush()
	if len(w.levels) >= maxNesting {
		w.inside(n)
		w.flush()
		return
	}
	w.levels = append(w.levels, l)
	w.inside(n)
	w.flush()
	w.levels = w.levels[:len(w.levels)-1]
}

// pre writes text unchanged, between fences that are longer than any run of backticks in it.
func (w *mdWriter) pre(n *html.Node) {
	text := strings.Trim(rawText(n), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := fenceFor(text, 3)
	w.lines(append(append([]string{fence + codeLanguage(n)}, strings.Split(text, "\n")...), fence)...)
}

// fenceFor returns a run of backticks that is longer than any in the text.
func fenceFor(text string, least int) string {
	longest, run := least-1, 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

var languageClass = regexp.MustCompile(`(?:^|\s)(?:(?:language|lang|highlight-source|brush:|sourceCode)[-\s]?([A-Za-z0-9+#]{1,20})(?:\s|;|$)|highlight-([a-z0-9+#]{1,20})\s+notranslate)|^(bash|c|cpp|css|go|html|java|javascript|json|php|python|ruby|rust|sh|sql|toml|yaml)(?:\s|$)`)

var languageName = regexp.MustCompile(`^[A-Za-z0-9+#]{1,20}$`)

// codeLanguage returns the language that is named in the class of a PRE element, of the CODE element in it, or of one of the two elements
// around it.
func codeLanguage(n *html.Node) string {
	inner := n.FirstChild
	for inner != nil && inner.DataAtom != atom.Code {
		inner = inner.NextSibling
	}
	around, grand := n.Parent, (*html.Node)(nil)
	if around != nil {
		grand = around.Parent
	}
	for _, e := range []*html.Node{n, inner, around, grand} {
		if e == nil || e.Type != html.ElementNode {
			continue
		}
		name := attr(e, "data-lang")
		if m := languageClass.FindStringSubmatch(attr(e, "class") + " " + attr(e, "data-syntaxhighlighter-params")); m != nil {
			name = m[1] + m[2] + m[3]
		}
		if languageName.MatchString(name) && name != "default" && name != "none" {
			return name
		}
	}
	return ""
}

// rawText returns the text in an element, unchanged. BR becomes a line feed.
func rawText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		} else if d.DataAtom == atom.Br {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func codeSpan(a atom.Atom) bool {
	return a == atom.Code || a == atom.Kbd || a == atom.Samp || a == atom.Tt
}

// code writes a code span.
func (w *mdWriter) code(n *html.Node) {
	text := strings.Join(strings.Fields(rawText(n)), " ")
	if text == "" {
		return
	}
	if w.cell {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	w.begin()
	fence := fenceFor(text, 1)
	if text[0] == '`' || text[len(text)-1] == '`' {
		text = " " + text + " "
	}
	w.line.WriteString(fence + text + fence)
}

// link writes a link. If it leads nowhere, or contains a block, only its content is written.
func (w *mdWriter) link(n *html.Node) {
	to := w.resolve(attr(n, "href"))
	if to == "" || w.linked || containsBlock(n) {
		w.inside(n)
		return
	}
	w.linked = true
	w.between(n, mdMark{"[", "](" + destination(to) + ")"})
	w.linked = false
}

// containsBlock reports whether n contains a block element.
func containsBlock(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && breaks(d.DataAtom) {
			return true
		}
	}
	return false
}

// image writes an image, if it has an alternative text.
func (w *mdWriter) image(n *html.Node) {
	alt := strings.Join(strings.Fields(attr(n, "alt")), " ")
	to := w.resolve(imageAddress(n))
	if alt == "" || to == "" {
		return
	}
	w.begin()
	w.line.WriteString("![" + escapeText(alt) + "](" + destination(to) + ")")
}

// imageAddress returns the URL of an image, even of one that a script would load.
func imageAddress(n *html.Node) string {
	for _, name := range []string{"src", "data-src", "data-original", "data-lazy-src"} {
		if v := strings.TrimSpace(attr(n, name)); v != "" && !strings.HasPrefix(v, "data:") {
			return v
		}
	}
	return ""
}

var destinationEscaper = strings.NewReplacer(" ", "%20", "(", `\(`, ")", `\)`, "<", "%3C", ">", "%3E", "\n", "", "|", "%7C", `\`, "%5C")

func destination(to string) string { return destinationEscaper.Replace(to) }

// emphasis maps elements to Markdown marks.
var emphasis = map[atom.Atom]string{
	atom.Em: "*", atom.I: "*", atom.Cite: "*", atom.Dfn: "*", atom.Var: "*", atom.Strong: "**", atom.B: "**",
	atom.Del: "~~", atom.S: "~~", atom.Strike: "~~",
}

// mdMark is a pair of marks around inline text. Both are "" for emphasis inside of emphasis of the same kind.
type mdMark struct{ before, after string }

// between writes an element between marks, which are placed directly next to its text. Without text, the marks are omitted.
func (w *mdWriter) between(n *html.Node, m mdMark) {
	if slices.Contains(w.marks, m) {
		m = mdMark{}
	}
	w.marks = append(w.marks, m)
	w.due++
	depth := len(w.marks)
	w.inside(n)
	if len(w.marks) != depth {
		return // a block inside has ended the element and its marks
	}
	if w.due > 0 {
		w.due--
	} else {
		w.ends = append(w.ends, m.after)
	}
	w.marks = w.marks[:depth-1]
}

// text adds a text to the line. It collapses white space and escapes markup.
func (w *mdWriter) text(s string) {
	s = strings.ToValidUTF8(s, "\uFFFD") // so that each letter has the same length in input and output
	before := ' '
	for i, r := range s {
		if unicode.IsSpace(r) {
			w.gap, before = true, ' '
			continue
		}
		if unicode.IsControl(r) || r == '\u200b' || r == '\ufeff' {
			continue
		}
		w.begin()
		if escaped(r, before, s[i+len(string(r)):]) || w.cell && r == '|' {
			w.line.WriteByte('\\')
		}
		w.line.WriteRune(r)
		before = r
	}
}

// escaped reports whether a character would count as markup and must be escaped.
func escaped(r, before rune, after string) bool {
	switch r {
	case '\\', '`', '*', '[', ']', '<':
		return true
	case '~':
		return strings.HasPrefix(after, "~") || before == '~'
	case '_':
		return !isWord(before) || !isWord(firstRune(after))
	case '&':
		return entity.MatchString(after[:min(len(after), 40)])
	}
	return false
}

var entity = regexp.MustCompile(`^(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

func escapeText(s string) string {
	var b strings.Builder
	s = strings.ToValidUTF8(s, "\uFFFD")
	before := ' '
	for i, r := range s {
		if escaped(r, before, s[i+len(string(r)):]) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// firstRune returns the first letter of s, or a blank if there is none.
func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return ' '
}

// begin writes what must precede the next letter: white space, a line end, marks of emphasis.
func (w *mdWriter) begin() {
	due := w.marks[len(w.marks)-w.due:]
	for !w.gap && !w.broke && len(due) > 0 && len(w.ends) > 0 && due[0].before == w.ends[len(w.ends)-1] { // the same emphasis continues
		due, w.ends = due[1:], w.ends[:len(w.ends)-1]
	}
	w.end()
	switch {
	case w.line.Len() == 0:
	case w.broke:
		w.line.WriteByte('\n')
	case w.gap:
		w.line.WriteByte(' ')
	}
	w.gap, w.broke = false, false
	for _, m := range due {
		w.line.WriteString(m.before)
	}
	w.due = 0
}

// end writes the end marks that are due.
func (w *mdWriter) end() {
	for _, mark := range w.ends {
		w.line.WriteString(mark)
	}
	w.ends = w.ends[:0]
}

// take ends the line and returns it, after closing all emphasis.
func (w *mdWriter) take() string {
	w.end()
	for i := len(w.marks) - w.due - 1; i >= 0; i-- {
		w.line.WriteString(w.marks[i].after)
	}
	text := w.line.String()
	w.line = strings.Builder{}
	w.marks, w.due, w.gap, w.broke = nil, 0, false, false
	return text
}

// flush writes the collected line as a paragraph, if it is not empty.
func (w *mdWriter) flush() {
	text := w.take()
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = escapeStart(l)
		if i < len(lines)-1 {
			lines[i] += "\\" // makes a hard line break
		}
	}
	w.lines(lines...)
}

// lineStart matches the start of a line that would make it something other than a paragraph.
var lineStart = regexp.MustCompile(`^(#{1,6}|[-+]|[0-9]{1,9}[.)])( |$)|^(>|~~~|=+$|-+$)`)

// escapeStart escapes the start of a line, if necessary, so that the line is a paragraph.
func escapeStart(line string) string {
	at := lineStart.FindStringSubmatchIndex(line)
	switch {
	case at == nil:
		return line
	case at[3] > 0:
		return line[:at[3]-1] + "\\" + line[at[3]-1:]
	}
	return "\\" + line
}

// lines writes a block. Each line begins with the marks of the lists and quotations around it.
func (w *mdWriter) lines(lines ...string) {
	if w.rule {
		w.rule = false
		w.lines("---")
	}
	for i, l := range lines {
		if w.out.Len() > 0 {
			w.out.WriteByte('\n')
			if i == 0 && !w.tight() {
				w.out.WriteString(strings.TrimRight(w.prefix(false), " "))
				w.out.WriteByte('\n')
			}
		}
		w.out.WriteString(strings.TrimRight(w.prefix(true)+l, " "))
	}
}

// tight reports whether the next block follows the previous one without an empty line.
func (w *mdWriter) tight() bool {
	for _, l := range w.levels {
		if !l.begun {
			return l.tight
		}
	}
	return false
}

// prefix returns the marks at the beginning of a line. The first line of a level gets the level's own mark.
func (w *mdWriter) prefix(begin bool) string {
	var b strings.Builder
	for _, l := range w.levels {
		switch {
		case l.begun:
			b.WriteString(l.rest)
		case begin:
			b.WriteString(l.first)
			l.begun = true
		default:
			return b.String()
		}
	}
	return b.String()
}
