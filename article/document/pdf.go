package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// Limits for a PDF file, in addition to those of the parser.
const (
	maxDecoded    = 64 << 20  // maximum bytes of a decoded stream
	maxTree       = 64        // maximum depth of the tree of pages
	maxForms      = 8         // maximum depth of nested forms
	maxStates     = 256       // maximum number of saved graphics states
	maxOperations = 5_000_000 // maximum number of operations in a document
)

// configured prevents the parser from creating files in the user's directory.
var configured = sync.OnceFunc(func() { model.ConfigPath = "disable" })

// pdfFile is a PDF file during the extraction of its text.
type pdfFile struct {
	*model.XRefTable

	ctx   context.Context
	doc   *Document
	fonts map[types.IndirectRef]*glyphs
	left  int // remaining operations
	bytes int // remaining bytes of decoded streams
	pages []*layout
	known map[string]bool // URLs of the links found so far
}

// readPDF reads a PDF file.
func (d *Document) readPDF(ctx context.Context, body []byte) error {
	configured()
	c := model.NewDefaultConfiguration()
	c.Limits.MaxStreamBytes, c.Limits.MaxDecodeBytes = int64(len(body)), maxDecoded
	if i := bytes.Index(body[:min(len(body), 1024)], []byte("%PDF-")); i > 0 {
		body = body[i:] // offsets in the file are relative to this position
	}
	parsed, err := pdfcpu.ReadWithContext(ctx, bytes.NewReader(body), c)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return fmt.Errorf("%w: it is encrypted with a password", ErrNotRead)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	f := &pdfFile{XRefTable: parsed.XRefTable, ctx: ctx, doc: d, fonts: map[types.IndirectRef]*glyphs{}, left: maxOperations, bytes: 4 * maxDecoded, known: map[string]bool{}}
	root, err := f.Catalog()
	if err != nil || root == nil {
		return fmt.Errorf("%w: it has no catalogue of its parts", ErrNotRead)
	}
	f.describe(root)
	f.tree(root["Pages"], nil, map[types.IndirectRef]bool{}, 0)
	size := bodySize(f.pages)
	for _, p := range f.pages {
		if !d.add(p.html(size)) {
			break
		}
	}
	if f.left <= 0 || f.bytes <= 0 {
		d.Cut = "what would take too long to draw or to unpack"
	}
	return ctx.Err()
}

// describe reads the metadata of the file.
func (f *pdfFile) describe(root types.Dict) {
	text := func(o types.Object) string {
		s, err := f.DereferenceText(o)
		if err != nil {
			return ""
		}
		return strings.Join(strings.Fields(strings.ToValidUTF8(strings.Trim(s, "\x00"), "\uFFFD")), " ")
	}
	f.doc.Language = text(root["Lang"])
	if f.Info == nil {
		return
	}
	info := f.dict(*f.Info)
	f.doc.Title, f.doc.Author = text(info["Title"]), text(info["Author"])
	f.doc.Modified = pdfDate(text(info["ModDate"]))
	if f.doc.Modified == "" {
		f.doc.Modified = pdfDate(text(info["CreationDate"]))
	}
}

// pdfDate converts a date such as D:20260131120000+02'00' to RFC 3339. It returns "" for an invalid date.
func pdfDate(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z"} {
		if t, err := time.Parse(form, s); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	if len(s) >= 8 {
		if t, err := time.Parse("20060102", s[:8]); err == nil {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

// The methods dict, array, number and name resolve references. They return zero values for objects of another type.

func (f *pdfFile) dict(o types.Object) types.Dict {
	o, err := f.Dereference(o)
	if err != nil {
		return nil
	}
	switch o := o.(type) {
	case types.Dict:
		return o
	case types.StreamDict:
		return o.Dict
	}
	return nil
}

func (f *pdfFile) array(o types.Object) types.Array {
	a, err := f.DereferenceArray(o)
	if err != nil {
		return nil
	}
	return a
}

func (f *pdfFile) number(o types.Object) (n float64, ok bool) {
	if o == nil {
		return 0, false
	}
	n, err := f.DereferenceNumber(o)
	return n, err == nil
}

func (f *pdfFile) name(o types.Object) string {
	o, err := f.Dereference(o)
	if n, ok := o.(types.Name); ok && err == nil {
		return unescapeName(string(n))
	}
	return ""
}

// stream returns the decoded bytes of a stream, nil if it cannot be decoded.
func (f *pdfFile) stream(o types.Object) []byte {
	o, err := f.Dereference(o)
	s, ok := o.(types.StreamDict)
	if err != nil || !ok || f.bytes <= 0 || f.ctx.Err() != nil {
		return nil
	}
	if s.DecodeWithLimit(maxDecoded) != nil {
		f.bytes -= maxDecoded // count the maximum, because the failed attempt may have decoded as much
		return nil
	}
	f.bytes -= len(s.Content)
	return s.Content
}

// tree reads the pages below a node in the tree of pages.
func (f *pdfFile) tree(node, resources types.Object, seen map[types.IndirectRef]bool, depth int) {
	if ref, ok := node.(types.IndirectRef); ok {
		if seen[ref] {
			return
		}
		seen[ref] = true
	}
	n := f.dict(node)
	if n == nil || depth > maxTree || len(f.pages) > maxPages || f.ctx.Err() != nil {
		return
	}
	if r := n["Resources"]; r != nil {
		resources = r
	}
	if kids := f.array(n["Kids"]); kids != nil {
		for _, kid := range kids {
			f.tree(kid, resources, seen, depth+1)
		}
		return
	}
	f.pages = append(f.pages, &layout{})
	m := &machine{pdfFile: f, out: f.pages[len(f.pages)-1]}
	m.run(f.content(n["Contents"]), f.dict(resources), 0)
	for _, a := range f.array(n["Annots"]) {
		if action := f.dict(f.dict(a)["A"]); f.name(action["S"]) == "URI" {
			if uri, err := f.DereferenceText(action["URI"]); err == nil {
				f.doc.link(uri, f.known)
			}
		}
	}
}

// content returns the content of a page. It concatenates the page's streams.
func (f *pdfFile) content(o types.Object) []byte {
	parts := f.array(o)
	if parts == nil {
		return f.stream(o)
	}
	var all []byte
	for _, part := range parts {
		if all = append(append(all, f.stream(part)...), '\n'); len(all) > maxDecoded {
			break
		}
	}
	return all
}

// matrix is a transformation (ISO 32000-1, section 8.3.4): a, b, c, d, e, f.
type matrix [6]float64

// times returns the transformation m followed by n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

var identity = matrix{1, 0, 0, 1, 0, 0}

// state is the part of the graphics state that positions text (ISO 32000-1, section 9.3).
type state struct {
	ctm           matrix
	font          *glyphs
	size          float64
	letter, word  float64 // spacing of letters and words
	scale         float64 // horizontal scaling
	leading, rise float64
}

// machine executes content streams, as far as they draw text.
type machine struct {
	*pdfFile
	state

	out       *layout
	resources types.Dict
	saved     []state
	text      matrix
	start     matrix // transformation at the start of the line
}

// run executes a content stream. Forms in it are executed with resources of the form.
func (m *machine) run(content []byte, resources types.Dict, depth int) {
	if depth == 0 {
		m.state = state{ctm: identity, scale: 1}
	}
	before, base := m.resources, len(m.saved)
	m.resources = resources
	l := &lexer{data: content}
	var args []any
	for m.left > 0 {
		t := l.next(0)
		op, ok := t.(pdfOp)
		switch {
		case t == nil:
			m.resources, m.saved = before, m.saved[:min(base, len(m.saved))]
			return
		case !ok:
			if len(args) < 64 {
				args = append(args, t)
			}
			continue
		case op == "ID":
			l.skipImage()
		case op == "Do":
			m.draw(args, depth)
		default:
			m.do(op, args)
		}
		args = args[:0]
		if m.left--; m.left%1024 == 0 && m.ctx.Err() != nil {
			m.left = 0
		}
	}
}

// draw executes a form.
func (m *machine) draw(args []any, depth int) {
	if len(args) != 1 || depth >= maxForms {
		return
	}
	name, _ := args[0].(pdfName)
	object := m.dict(m.resources["XObject"])[string(name)]
	form := m.dict(object)
	if m.name(form["Subtype"]) != "Form" {
		return
	}
	state, text, start, resources := m.state, m.text, m.start, m.dict(form["Resources"])
	if resources == nil {
		resources = m.resources
	}
	if a := m.array(form["Matrix"]); len(a) == 6 {
		var own matrix
		for i := range own {
			own[i], _ = m.number(a[i])
		}
		m.ctm = own.times(m.ctm)
	}
	m.run(m.stream(object), resources, depth+1)
	m.state, m.text, m.start = state, text, start
}

// do executes an operator (ISO 32000-1, annex A). It ignores operators that are neither for text nor for coordinates.
func (m *machine) do(op pdfOp, args []any) {
	n := make([]float64, 6)
	for i := range min(len(args), 6) {
		n[i], _ = args[i].(float64)
	}
	switch op {
	case "q":
		if len(m.saved) < maxStates {
			m.saved = append(m.saved, m.state)
		}
	case "Q":
		if last := len(m.saved) - 1; last >= 0 {
			m.state, m.saved = m.saved[last], m.saved[:last]
		}
	case "cm":
		m.ctm = matrix(n).times(m.ctm)
	case "BT":
		m.text, m.start = identity, identity
	case "Tc":
		m.letter = n[0]
	case "Tw":
		m.word = n[0]
	case "Tz":
		m.scale = n[0] / 100
	case "TL":
		m.leading = n[0]
	case "Ts":
		m.rise = n[0]
	case "Tf":
		if len(args) == 2 {
			name, _ := args[0].(pdfName)
			m.font, m.size = m.glyphsOf(m.dict(m.resources["Font"])[string(name)]), n[1]
		}
	case "Td":
		m.move(n[0], n[1])
	case "TD":
		m.leading = -n[1]
		m.move(n[0], n[1])
	case "Tm":
		m.text, m.start = matrix(n), matrix(n)
	case "T*":
		m.move(0, -m.leading)
	case "Tj":
		m.show(args)
	case "'":
		m.move(0, -m.leading)
		m.show(args)
	case "\"":
		m.word, m.letter = n[0], n[1]
		m.move(0, -m.leading)
		m.show(args[min(2, len(args)):])
	case "TJ":
		if len(args) > 0 {
			parts, _ := args[0].([]any)
			m.show(parts)
		}
	}
}

// move begins a new line at an offset from the last one.
func (m *machine) move(x, y float64) {
	m.start = matrix{1, 0, 0, 1, x, y}.times(m.start)
	m.text = m.start
}

// show draws strings. Numbers between them move the position.
func (m *machine) show(parts []any) {
	for _, part := range parts {
		switch part := part.(type) {
		case float64:
			m.text = matrix{1, 0, 0, 1, -part / 1000 * m.size * m.scale, 0}.times(m.text)
		case pdfString:
			m.draws(part)
		}
	}
}

// draws draws a string.
func (m *machine) draws(s pdfString) {
	if m.font == nil {
		return
	}
	p := m.font.decode(string(s), m.size, m.letter, m.word)
	from := matrix{1, 0, 0, 1, p.from * m.scale, m.rise}.times(m.text).times(m.ctm)
	to := matrix{1, 0, 0, 1, p.to * m.scale, m.rise}.times(m.text).times(m.ctm)
	m.text = matrix{1, 0, 0, 1, p.width * m.scale, 0}.times(m.text)
	turn := math.Atan2(from[1], from[0])
	sin, cos := math.Sincos(turn)
	along := func(m matrix) float64 { return m[4]*cos + m[5]*sin }
	m.out.add(run{text: p.text, place: place{
		from: along(from), to: along(to), base: from[5]*cos - from[4]*sin,
		size: math.Abs(m.size) * math.Hypot(from[2], from[3]),
	}}, turn)
}
