package document_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

// pdfFile holds the bodies of the objects of a PDF file; the first has the number 1.
type pdfFile []string

// add adds an object and returns a reference to it.
func (f *pdfFile) add(format string, args ...any) string {
	*f = append(*f, fmt.Sprintf(format, args...))
	return fmt.Sprintf("%d 0 R", len(*f))
}

// stream adds a stream.
func (f *pdfFile) stream(dict, data string) string {
	return f.add("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

// flate adds a compressed stream.
func (f *pdfFile) flate(dict, data string) string {
	return f.stream(dict+" /Filter /FlateDecode", deflated(data))
}

func deflated(data string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(data)) // a write to memory does not fail
	_ = w.Close()
	return b.String()
}

// file returns the file with a table of its objects.
func (f *pdfFile) file(trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	at := make([]int, len(*f))
	for i, o := range *f {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, trailer, start)
	return b.Bytes()
}

// widths declares the widths of 224 letters, each half of the font size.
var widths = "/FirstChar 32 /LastChar 255 /Widths [" + strings.Repeat("500 ", 224) + "]"

// onePage returns a PDF file with one page whose content is a stream.
func onePage(content string) []byte {
	var f pdfFile
	font := f.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding %s >>", widths)
	text := f.stream("", content)
	page := f.add("<< /Type /Page /MediaBox [0 0 600 800] /Resources << /Font << /F1 %s >> >> /Contents %s >>", font, text)
	pages := f.add("<< /Type /Pages /Kids [%s] /Count 1 >>", page)
	root := f.add("<< /Type /Catalog /Pages %s >>", pages)
	return f.file("/Root " + root)
}

// zipped returns a ZIP archive of files, in pairs of name and content.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		method := zip.Deflate
		if i == 0 {
			method = zip.Store // readers expect the type of an EPUB here, uncompressed
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
