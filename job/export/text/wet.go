package text

import (
	"bufio"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"time"

	"golang.org/x/text/language"

	"github.com/amble-crawler/amble/job/export"
)

// WET returns the kind wet: the texts as conversion records in one WARC 1.0 file, as Common Crawl publishes them. Each record is a gzip
// member and refers to the response in the archive. The other fields of [Row] are left out. A job without an archive is refused.
func WET(o Options) export.Kind {
	o.Text, o.Markdown = true, false
	return export.Kind{Name: "wet", Doc: "the text alone, in the form of Common Crawl's WET files", Suffix: ".warc.wet.gz", Many: true, Write: func(x *export.Export) error {
		return x.WriteFile(x.Path, func(w *bufio.Writer) error { return writeWET(x, w, o) })
	}}
}

func writeWET(x *export.Export, w io.Writer, o Options) error {
	var created time.Time
	for _, r := range x.Jobs {
		m, err := r.Manifest()
		if err != nil {
			return err
		}
		if m.Created.After(created) {
			created = m.Created
		}
	}
	z := gzip.NewWriter(nil)
	write := func(kind, about string, at time.Time, fields, block string) error {
		z.Reset(w)
		name := sha256.Sum256([]byte(kind + "\n" + about + "\n" + block))
		name[6], name[8] = name[6]&0x0f|0x80, name[8]&0x3f|0x80 // UUID version 8, made from a hash
		sum := sha1.Sum([]byte(block))
		fmt.Fprintf(z, "WARC/1.0\r\nWARC-Type: %s\r\n%sWARC-Date: %s\r\nWARC-Record-ID: <urn:uuid:%x-%x-%x-%x-%x>\r\nWARC-Block-Digest: sha1:%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			kind, fields, at.UTC().Format(time.RFC3339), name[:4], name[4:6], name[6:8], name[8:10], name[10:16], base32.StdEncoding.EncodeToString(sum[:]), len(block), block)
		return z.Close()
	}
	err := write("warcinfo", "", created, "Content-Type: application/warc-fields\r\n",
		"Software-Info: amble\r\nFormat: WARC File Format 1.0\r\nDescription: main text of the pages of a crawl\r\n")
	if err != nil {
		return err
	}
	for r, err := range Rows(x, o) {
		if err != nil {
			return err
		}
		fields := "WARC-Target-URI: " + r.Source.Target + "\r\nWARC-Refers-To: " + r.Source.Record + "\r\n"
		if tag, err := language.Parse(r.Language); err == nil && r.Language != "" {
			base, _ := tag.Base()
			fields += "WARC-Identified-Content-Language: " + base.ISO3() + "\r\n"
		}
		if err := write("conversion", r.Source.Record, r.Source.Date, fields+"Content-Type: text/plain\r\n", r.Text); err != nil {
			return err
		}
	}
	return nil
}
