package document_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
)

// herons is a PDF file with two pages, fonts of four kinds, a form and links.
func herons() []byte {
	var f pdfFile
	plain := f.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding %s >>", widths)
	names := f.add("<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Own /Encoding << /Type /Encoding /Differences [65 /fi /Lslash /afii10024 /uni03A9 /eacute] >> %s >>", widths)
	toUnicode := f.flate("", `/CIDInit /ProcSet findresource begin 12 dict begin begincmap
		1 begincodespacerange <0000> <FFFF> endcodespacerange
		2 beginbfchar <0001> <0048> <0002> <D83DDC26> endbfchar
		2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<0065> <0072006F>] endbfrange endcmap`)
	inner := f.add("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+Wide /DW 500 /W [1 [500 1000] 16 18 500] >>")
	wide := f.add("<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Wide /Encoding /Identity-H /DescendantFonts [%s] /ToUnicode %s >>", inner, toUnicode)
	form := f.stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Matrix [1 0 0 1 50 0] /Resources << /Font << /F9 "+plain+" >> >>",
		"BT /F9 10 Tf 0 300 Td (A form has fonts of its own.) Tj ET")
	first := f.flate("", `BT /F1 24 Tf 50 700 Td (Grey herons) Tj ET
		BT /F1 10 Tf 12 TL 50 660 Td (Three pairs of \(grey\) herons have been seen at the) Tj T* (lake this week, for the first time since the win-) Tj T* (ter of 2011.) Tj ET
		BT /F1 10 Tf 1 0 0 1 50 600 Tm [(W) 60 (ords) -300 (without) -280 (blanks, na\357ve ) (caf\351)] TJ ET
		q 1 0 0 1 0 -40 cm BI /W 2 /H 1 /BPC 8 /CS /G ID (T) Tj EI Q
		BT /F2 10 Tf 50 560 Td (ABCDE) Tj ET
		BT /F3 10 Tf 50 520 Td <000100200021> Tj 80 0 Td <00100011001200020003> Tj ET
		q 0.5 0 0 0.5 0 0 cm /X1 Do Q`)
	second := f.flate("", `BT 0 1 -1 0 300 100 Tm /F1 10 Tf (This line goes up,) Tj 0 -12 Td (and this one is beside it.) Tj ET`)
	link := f.add("<< /Type /Annot /Subtype /Link /Rect [0 0 10 10] /A << /S /URI /URI (https://birds.example/count) >> >>")
	again := f.add("<< /Type /Annot /Subtype /Link /Rect [0 0 10 10] /A << /S /URI /URI (https://birds.example/count) >> >>")
	script := f.add("<< /Type /Annot /Subtype /Link /Rect [0 0 10 10] /A << /S /URI /URI (javascript:alert) >> >>")
	one := f.add("<< /Type /Page /Contents %s /Annots [%s %s %s] >>", first, link, again, script)
	two := f.add("<< /Type /Page /Contents [%s] >>", second)
	inside := f.add("<< /Type /Pages /Kids [%s %s] /Count 2 >>", one, two)
	pages := f.add("<< /Type /Pages /Kids [%s] /Count 2 /MediaBox [0 0 600 800] /Resources << /Font << /F1 %s /F2 %s /F3 %s >> /XObject << /X1 %s >> >> >>", inside, plain, names, wide, form)
	root := f.add("<< /Type /Catalog /Pages %s /Lang (en-GB) >>", pages)
	info := f.add(`<< /Title <FEFF004800650072006F006E0073> /Author (Ada Bird) /ModDate (D:20260131120000+02'00') >>`)
	return f.file("/Root " + root + " /Info " + info)
}

func read(t *testing.T, body []byte, mediaType string) *document.Document {
	t.Helper()
	d, err := document.Read(t.Context(), body, mediaType)
	if err != nil {
		t.Fatal(err)
	}
	if got := document.Type(body); got != mediaType {
		t.Errorf("type %q", got)
	}
	return d
}

func texts(t *testing.T, d *document.Document) (text, markdown string) {
	t.Helper()
	a, err := d.Article("https://birds.example/file")
	if err != nil {
		t.Fatal(err)
	}
	return a.Text(), a.Markdown()
}

func TestTextOfPDF(t *testing.T) {
	d := read(t, herons(), document.PDF)
	if d.Title != "Herons" || d.Author != "Ada Bird" || d.Language != "en-GB" || d.Modified != "2026-01-31T12:00:00+02:00" || len(d.Pages) != 2 || d.Cut != "" {
		t.Errorf("%+v", d)
	}
	if want := []string{"https://birds.example/count"}; !reflect.DeepEqual(d.Links, want) {
		t.Errorf("links %q", d.Links)
	}
	text, markdown := texts(t, d)
	want := `Grey herons

Three pairs of (grey) herons have been seen at the lake this week, for the first time since the winter of 2011.

Words without blanks, naïve café

fiŁЖΩé

Hero abc🐦

A form has fonts of its own.

This line goes up, and this one is beside it.`
	if text != want {
		t.Errorf("text\n%s\nwant\n%s", text, want)
	}
	if want := "## Grey herons\n"; !strings.HasPrefix(markdown, want) {
		t.Errorf("Markdown\n%s", markdown)
	}
}

func TestTextOfEPUB(t *testing.T) {
	body := zipped(
		t, "mimetype", document.EPUB,
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
		"OEBPS/book.opf", `<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Birds &amp; lakes</dc:title><dc:creator>Ada Bird</dc:creator><dc:creator>Bo Lake</dc:creator><dc:language>en</dc:language></metadata>
			<manifest><item id="b" href="b.xhtml" media-type="application/xhtml+xml"/><item id="a" href="text/a%20b.xhtml" media-type="application/xhtml+xml"/><item id="p" href="p.png" media-type="image/png"/></manifest>
			<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="p"/></spine></package>`,
		"OEBPS/text/a b.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><h1 id="x">One</h1><a id="p1"/><p>A <b>heron</b> is <a href="https://birds.example/grey">grey</a>, see <a href="../b.xhtml">two</a>.</p><script>x()</script></body></html>`,
		"OEBPS/b.xhtml", `<html><body><h1>Two</h1><ul><li>reed</li><li>water</li></ul></body></html>`,
	)
	d := read(t, body, document.EPUB)
	if d.Title != "Birds & lakes" || d.Author != "Ada Bird, Bo Lake" || d.Language != "en" || len(d.Pages) != 2 || !reflect.DeepEqual(d.Links, []string{"https://birds.example/grey"}) {
		t.Errorf("%+v", d)
	}
	_, markdown := texts(t, d)
	if want := "# One\n\nA **heron** is [grey](https://birds.example/grey), see two.\n\n# Two\n\n- reed\n- water"; strings.TrimSpace(markdown) != want {
		t.Errorf("Markdown\n%s\nwant\n%s", markdown, want)
	}
}

// The error for a book whose chapters are all missing does not say that the book lists none.
func TestBookWithoutReadableChapters(t *testing.T) {
	for spine, want := range map[string]string{"": "no chapters", `<itemref idref="a"/>`: "only chapters that the archive does not contain"} {
		_, err := document.Read(t.Context(), zipped(
			t, "mimetype", document.EPUB,
			"META-INF/container.xml", `<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>`,
			"book.opf", `<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>`+spine+`</spine></package>`,
		), document.EPUB)
		if !errors.Is(err, document.ErrNotRead) || !strings.Contains(err.Error(), want) {
			t.Errorf("spine %q: %v, want %q", spine, err, want)
		}
	}
}

func TestTextOfDOCX(t *testing.T) {
	body := zipped(
		t, "[Content_Types].xml", "<Types/>",
		"docProps/core.xml", `<cp:coreProperties><dc:title>Herons</dc:title><dc:creator>Ada Bird</dc:creator><dcterms:modified>2026-01-31T12:00:00Z</dcterms:modified></cp:coreProperties>`,
		"word/_rels/document.xml.rels", `<Relationships><Relationship Id="r1" Target="https://birds.example/count"/></Relationships>`,
		"word/document.xml", `<w:document><w:body>
			<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Grey</w:t></w:r></w:p>
			<w:p><w:r><w:t xml:space="preserve">Three pairs &lt;</w:t><w:tab/><w:t>see </w:t></w:r><w:hyperlink r:id="r1"><w:r><w:t>the count</w:t></w:r></w:hyperlink><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
			<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>reed</w:t></w:r></w:p>
			<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr><w:r><w:t>cut</w:t></w:r></w:p>
			<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>water</w:t></w:r></w:p>
			<w:tbl><w:tr><w:tc><w:p><w:r><w:t>year</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>pairs</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p><w:r><w:t>2026</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>3</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
			</w:body></w:document>`,
	)
	d := read(t, body, document.DOCX)
	if d.Title != "Herons" || d.Author != "Ada Bird" || d.Modified != "2026-01-31T12:00:00Z" || !reflect.DeepEqual(d.Links, []string{"https://birds.example/count"}) {
		t.Errorf("%+v", d)
	}
	_, markdown := texts(t, d)
	want := "## Grey\n\nThree pairs \\< see [the count](https://birds.example/count)\n\n- reed\n  - cut\n- water\n\n|  |  |\n| --- | --- |\n| year | pairs |\n| 2026 | 3 |"
	if strings.TrimSpace(markdown) != want {
		t.Errorf("Markdown\n%s\nwant\n%s", markdown, want)
	}
}

func TestOtherFilesAreNotRead(t *testing.T) {
	for _, body := range []string{"", "<html>", "PK\x03\x04 and nothing", "%PDF-1.7"} {
		for _, kind := range []string{document.PDF, document.EPUB, document.DOCX, "text/html"} {
			if d, err := document.Read(t.Context(), []byte(body), kind); !errors.Is(err, document.ErrNotRead) || d != nil {
				t.Errorf("%q as %s: %v", body, kind, err)
			}
		}
	}
}

func TestLinksOfDocuments(t *testing.T) {
	l := document.Links{Reader: inProcess{}}
	if !l.Reads(document.PDF) || l.Reads("text/html") {
		t.Error("types")
	}
	got, err := l.Extract(&fetcher.Page{Body: herons(), ContentType: document.PDF})
	if err != nil || got.Title != "Herons" || len(got.Links) != 1 || got.Links[0] != (extract.Link{Ref: "https://birds.example/count"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, p := range []*fetcher.Page{{Body: []byte("%PDF"), ContentType: document.PDF}, {Body: herons(), ContentType: document.PDF, Truncated: "length"}} {
		if got, err := l.Extract(p); got != nil || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
