package warc

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressor makes a gzip member or a zstd frame of each record.
type compressor interface {
	// begin starts one for a record of size bytes.
	begin(dst io.Writer, size int64)
	io.WriteCloser
}

func newCompressor(c Compression, level int) (compressor, error) {
	if c == Zstd {
		// Windows up to 8 MiB, the content's size and a checksum in every frame: "Zstandard Compression for WARC
		// Files" requires them. It runs in the caller's goroutine alone.
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(true))
		return zstdFrames{z}, err
	}
	z, err := gzip.NewWriterLevel(io.Discard, level)
	return gzipMembers{z}, err
}

type gzipMembers struct{ *gzip.Writer }

func (m gzipMembers) begin(dst io.Writer, _ int64) { m.Reset(dst) }

type zstdFrames struct{ *zstd.Encoder }

func (m zstdFrames) begin(dst io.Writer, size int64) { m.ResetContentSize(dst, size) }
