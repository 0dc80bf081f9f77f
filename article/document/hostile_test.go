package document_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/internal/long"
)

// hostile returns files that a parser must survive, by name.
func hostile(t *testing.T) map[string][]byte {
	good := herons()
	files := map[string][]byte{}
	for i := range 10 {
		files[fmt.Sprintf("cut at %d of 10", i)] = good[:len(good)*i/10]
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		b := bytes.Clone(good)
		for range 1 + len(b)/50 {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		files[fmt.Sprintf("junk %d", i)] = b
	}
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	files["noise"] = append([]byte("%PDF-1.7\n"), noise...)
	files["no objects"] = []byte("%PDF-1.7\nxref\n0 0\ntrailer\n<< /Root 1 0 R /Size 0 >>\nstartxref\n9\n%%EOF\n")

	// Loops of references, and malformed trees of pages.
	objects := func(root string, all ...string) []byte {
		f := pdfFile(all)
		return f.file("/Root " + root)
	}
	files["page tree is a loop"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>")
	files["page tree of two loops"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>")
	files["object refers to itself"] = objects("1 0 R", "1 0 R")
	files["objects refer to each other"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "3 0 R", "2 0 R")
	files["length is a loop"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Contents 4 0 R >>", "<< /Length 4 0 R >>\nstream\nBT ET\nendstream")
	files["catalogue is a number"] = objects("1 0 R", "12")
	files["pages are a name"] = objects("1 0 R", "<< /Type /Catalog /Pages /Name >>")
	files["count is huge"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 2147483647 >>", "<< /Type /Page >>")
	files["count is negative"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count -7 >>", "<< /Type /Page >>")
	files["a page many times"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids ["+strings.Repeat("<< /Type /Page >> ", 200_000)+"] /Count 200000 >>")
	deep := []string{"<< /Type /Catalog /Pages 2 0 R >>"}
	for i := range 20_000 {
		deep = append(deep, fmt.Sprintf("<< /Type /Pages /Kids [%d 0 R] /Count 1 >>", i+3))
	}
	files["page tree is deep"] = objects("1 0 R", deep...)
	files["parents are a loop"] = objects("1 0 R", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 3 0 R >>", "<< /Type /Page /Parent 2 0 R >>")

	// Tables of objects.
	files["table is a loop"] = []byte("%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF\n")
	files["table is huge"] = []byte("%PDF-1.7\nxref\n0 2147483647\n0000000000 65535 f \ntrailer\n<< /Size 2147483647 /Root 1 0 R >>\nstartxref\n9\n%%EOF\n")
	files["table begins far behind"] = []byte("%PDF-1.7\nxref\n2147483646 1\n0000000000 00000 n \ntrailer\n<< /Size 2147483647 /Root 2147483646 0 R >>\nstartxref\n9\n%%EOF\n")
	files["stream of objects is huge"] = []byte("%PDF-1.7\n1 0 obj\n<< /Type /XRef /Size 2147483647 /W [4 4 4] /Index [0 2147483647] /Root 1 0 R /Length 0 >>\nstream\n\nendstream\nendobj\nstartxref\n9\n%%EOF\n")
	files["widths of the table are huge"] = []byte("%PDF-1.7\n1 0 obj\n<< /Type /XRef /Size 2 /W [1 999999999 999999999] /Root 1 0 R /Length 4 >>\nstream\nabcd\nendstream\nendobj\nstartxref\n9\n%%EOF\n")
	files["start is beyond the end"] = []byte("%PDF-1.7\nstartxref\n99999999999999\n%%EOF\n")

	// Content that expands enormously.
	bomb := strings.Repeat(" ", 70<<20)
	var f pdfFile
	content := f.flate("", bomb)
	page := f.add("<< /Type /Page /Contents [%s] >>", strings.Repeat(content+" ", 50))
	pages := f.add("<< /Type /Pages /Kids [%s] /Count 1 >>", page)
	files["deflate bomb"] = f.file("/Root " + f.add("<< /Type /Catalog /Pages %s >>", pages))
	f = nil
	content = f.stream("/Filter [/FlateDecode /FlateDecode /FlateDecode]", deflated(deflated(deflated(bomb))))
	page = f.add("<< /Type /Page /Contents %s >>", content)
	pages = f.add("<< /Type /Pages /Kids [%s] /Count 1 >>", page)
	files["deflate bomb in three layers"] = f.file("/Root " + f.add("<< /Type /Catalog /Pages %s >>", pages))
	f = nil
	forms := "<< /XObject <<"
	for i := range 9 {
		forms += fmt.Sprintf(" /X%d %d 0 R", i, i+1)
	}
	for i := range 9 { // each form draws all nine forms, itself included, nine times
		f.stream("/Type /XObject /Subtype /Form /Resources "+forms+" >> >>", strings.Repeat("/X0 Do /X1 Do /X2 Do /X3 Do /X4 Do /X5 Do /X6 Do /X7 Do /X8 Do ", 9)+fmt.Sprint(i))
	}
	page = f.add("<< /Type /Page /Contents 1 0 R /Resources %s >> >> >>", forms)
	pages = f.add("<< /Type /Pages /Kids [%s] /Count 1 >>", page)
	files["forms in forms"] = f.file("/Root " + f.add("<< /Type /Catalog /Pages %s >>", pages))

	// Odd content.
	files["arrays are deep"] = onePage("BT /F1 10 Tf " + strings.Repeat("[", 1_000_000) + " TJ ET")
	files["states without end"] = onePage(strings.Repeat("q ", 2_000_000))
	files["numbers that are none"] = onePage("BT /F1 1e308 Tf 1e308 1e308 1e308 1e308 1e308 1e308 Tm (a) Tj NaN Inf -Inf 0x1p99 Td (b) Tj ET")
	files["words without end"] = onePage("BT /F1 10 Tf " + strings.Repeat("(a) Tj ", 1_000_000) + "ET")
	files["string without end"] = onePage("BT /F1 10 Tf (" + strings.Repeat("(", 1_000_000))
	files["dictionaries are deep"] = objects("1 0 R", "<< /Type /Catalog /Pages "+strings.Repeat("<< /Pages ", 100_000)+strings.Repeat(">> ", 100_000)+">>")

	// Archives.
	files["archive bomb"] = zipped(t, "mimetype", document.EPUB, "META-INF/container.xml", bomb)
	files["archive with the book a hundred times"] = zipped(t, "mimetype", document.EPUB, "META-INF/container.xml", `<rootfile full-path="b.opf"/>`,
		"b.opf", `<item id="a" href="a" media-type="text/html"/>`+strings.Repeat(`<itemref idref="a"/>`, 100), "a", strings.Repeat("<p>", 5_000_000))
	files["deep XML"] = zipped(t, "[Content_Types].xml", "", "word/document.xml", strings.Repeat("<w:p>", 2_000_000))
	files["entities in entities"] = zipped(t, "[Content_Types].xml", "", "word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><w:p><w:t>&b;</w:t></w:p>`)
	files["tables in tables"] = zipped(t, "[Content_Types].xml", "", "word/document.xml", strings.Repeat("<w:tbl><w:tr><w:tc>", 300_000))
	return files
}

// harmless holds the names of the files that end no process: they are read or refused.
var harmless = map[string]bool{
	"arrays are deep": true, "page tree is a loop": true, "page tree of two loops": true, "parents are a loop": true, "count is huge": true, "numbers that are none": true,
	"archive bomb": true, "forms in forms": true, "table is huge": true, "stream of objects is huge": true, "widths of the table are huge": true,
}

// TestHostileFiles checks that broken and malicious files are read, refused or abandoned within the limits.
func TestHostileFiles(t *testing.T) {
	if long.Race {
		t.Skip("the race detector needs more memory than the processes get")
	}
	files := hostile(t)
	if len(files) < 50 {
		t.Fatalf("%d files", len(files))
	}
	r := isolated("read-document")
	r.MaxTime = 20 * time.Second // the memory limit stays: with less, a busy machine collects garbage too late
	var all sync.WaitGroup
	for name, body := range files {
		all.Go(func() {
			kind := document.PDF
			if strings.HasPrefix(string(body), "PK") {
				kind = document.Type(body)
			}
			d, err := r.Read(t.Context(), body, kind)
			if (err != nil) == (d != nil) || err != nil && !errors.Is(err, document.ErrNotRead) && !errors.Is(err, document.ErrLimit) {
				t.Errorf("%s: %v, %v", name, d, err)
			}
			if d != nil {
				if _, err := d.Article(""); err != nil {
					t.Logf("%s: %v", name, err)
				}
			}
			if harmless[name] && err != nil && strings.Contains(err.Error(), "process ended") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}
