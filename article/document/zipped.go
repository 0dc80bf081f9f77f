package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Limits for unpacking archives.
const (
	maxUnpacked = 64 << 20 // total bytes of all files
	maxFiles    = 20_000
)

// archive is a ZIP archive from which whole files are read.
type archive struct {
	files map[string]*zip.File
	left  int64 // number of bytes that may still be unpacked
}

func openArchive(body []byte) (*archive, error) {
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("%w: %w", ErrNotRead, err)
	}
	if len(r.File) > maxFiles {
		return nil, fmt.Errorf("%w: it contains %d files", ErrNotRead, len(r.File))
	}
	a := &archive{files: map[string]*zip.File{}, left: maxUnpacked}
	for _, f := range r.File {
		a.files[path.Clean(f.Name)] = f
	}
	return a, nil
}

// read returns a file of the archive.
func (a *archive) read(name string) ([]byte, error) {
	f := a.files[path.Clean(name)]
	if f == nil {
		return nil, fmt.Errorf("%w: it contains no %s", ErrNotRead, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotRead, name, err)
	}
	defer func() { _ = r.Close() }() // opened only for reading
	data, err := io.ReadAll(io.LimitReader(r, a.left+1))
	if a.left -= int64(len(data)); a.left < 0 {
		return nil, fmt.Errorf("%w: unpacked it has more than %d MiB", ErrNotRead, maxUnpacked>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotRead, name, err)
	}
	return data, nil
}

// xmlTokens yields the tokens of XML, up to the first error. Entities that are not declared are kept as text.
func xmlTokens(data []byte, yield func(xml.Token) bool) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		t, err := d.RawToken()
		if err != nil || !yield(t) {
			return
		}
	}
}

// attribute returns the value of the attribute with this local name.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// texts returns the texts of elements in an XML file, for each of the local names.
func texts(data []byte, names ...string) map[string][]string {
	all := map[string][]string{}
	var open string
	var text strings.Builder
	xmlTokens(data, func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			for _, n := range names {
				if t.Name.Local == n {
					open = n
					text.Reset()
				}
			}
		case xml.CharData:
			if open != "" {
				text.Write(t)
			}
		case xml.EndElement:
			if t.Name.Local == open {
				if s := strings.Join(strings.Fields(text.String()), " "); s != "" {
					all[open] = append(all[open], s)
				}
				open = ""
			}
		}
		return true
	})
	return all
}

// first returns the first text, "" if there is none.
func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
