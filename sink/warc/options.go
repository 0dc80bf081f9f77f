package warc

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of [Options].
const (
	DefaultPrefix    = "amble"
	defaultMaxSize   = 1_000_000_000 // in bytes, as in ISO 28500 annex C
	defaultRevisits  = 1 << 16
	defaultGzipLevel = 6
)

// None means no limit, or that a feature is off, in fields where 0 means the default.
const None = -1

// Compression is the compression of records. Each record of a file is compressed separately.
type Compression string

// Kinds of compression.
const (
	Gzip Compression = "gzip" // files NAME.warc.gz (ISO 28500 annex D), which all readers support
	// Zstd makes files NAME.warc.zst, by the IIPC's proposal "Zstandard Compression for WARC Files" 1.0, without dictionary. It is smaller and
	// faster than Gzip, but some readers do not support it.
	Zstd Compression = "zstd"
)

// Digest is the algorithm of WARC-Block-Digest and WARC-Payload-Digest.
type Digest string

// Algorithms for digests.
const (
	SHA1   Digest = "sha1"   // digest in base 32, as usual
	SHA256 Digest = "sha256" // digest in base 16
)

// Info has the content of the warcinfo record of each file, except for the format. Empty fields are left out.
type Info struct {
	Software    string // name and version of the program
	Operator    string // person or organisation that runs the crawl, with contact
	Description string
	IsPartOf    string // name of the crawl
	Robots      string // policy of the crawl for robots.txt
	UserAgent   string // User-Agent header of requests
	Hostname    string // name of this machine
}

// Options configures a Writer. The zero value of every field is its default.
type Options struct {
	Prefix  string // prefix of file names: letters, digits, "_", "." and "-". "": DefaultPrefix
	MaxSize int64  // maximum bytes of a file, only exceeded by a file with a single capture. 0: 1 GB; None: no limit
	// MaxAge is the age of a file after which the next capture begins a new file. 0: no limit.
	MaxAge time.Duration
	Info   Info

	Compression Compression // default: Gzip
	// Level is 1 (fastest) to 9 (smallest) for Gzip, and 1 to 4 for Zstd. 0: 6 for Gzip and 2 for Zstd.
	Level  int
	Digest Digest // default: SHA1
	// Revisits limits the number of payloads that are remembered, so that repeated ones can be stored as revisit records. Each takes about 400
	// bytes of memory. 0: 65,536; None: no revisit records.
	Revisits int

	// These fields are set only by tests.
	now  func() time.Time
	hook func(op operation) error
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (o Options) withDefaults() Options {
	o.Prefix = or(o.Prefix, DefaultPrefix)
	o.MaxSize = or(o.MaxSize, defaultMaxSize)
	if o.MaxSize == None {
		o.MaxSize = maxOffset
	}
	o.Compression = or(o.Compression, Gzip)
	o.Level = or(o.Level, map[Compression]int{Gzip: defaultGzipLevel, Zstd: 2}[o.Compression])
	o.Digest = or(o.Digest, SHA1)
	o.Revisits = max(0, or(o.Revisits, defaultRevisits))
	if o.now == nil {
		o.now = time.Now
	}
	return o
}

// Validate reports all errors in o, joined.
func (o Options) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("warc: "+format, args...))
		}
	}
	bad(validPrefix(or(o.Prefix, DefaultPrefix)), "Prefix is %q: must be letters, digits, \"_\", \".\" and \"-\", at most %d", o.Prefix, maxPrefix)
	bad(o.MaxSize >= None && o.MaxSize <= maxOffset, "MaxSize is %d: must be 1 to %d, or None", o.MaxSize, maxOffset)
	bad(o.MaxAge >= 0, "MaxAge is %v: must not be negative", o.MaxAge)
	most := map[Compression]int{"": 9, Gzip: 9, Zstd: 4}
	_, known := most[o.Compression]
	bad(known, "Compression is %q: must be %s or %s", o.Compression, Gzip, Zstd)
	bad(!known || o.Level >= 0 && o.Level <= most[o.Compression], "Level is %d: must be 1 to %d", o.Level, most[o.Compression])
	bad(o.Digest == "" || o.Digest == SHA1 || o.Digest == SHA256, "Digest is %q: must be %s or %s", o.Digest, SHA1, SHA256)
	bad(o.Revisits >= None, "Revisits is %d: must be 1 or more, or None", o.Revisits)
	return errors.Join(errs...)
}
