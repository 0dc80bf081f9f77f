package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/sink"
)

// output is where a crawl's results go: stdout, or a directory of files.
type output struct {
	visits *sink.JSONL
	ledger io.Writer
	files  []io.Closer
}

func (c *crawlCmd) openOutput(stdout io.Writer) (*output, error) {
	if c.Out == "" {
		return &output{visits: sink.NewJSONL(stdout)}, nil
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	visits := filepath.Join(c.Out, "visits.jsonl")
	if _, err := os.Stat(visits); err == nil {
		return nil, fmt.Errorf("output directory %s holds a crawl already: name a new one", c.Out)
	}
	v, err := sink.OpenJSONL(visits)
	if err != nil {
		return nil, fmt.Errorf("output directory: %w", err)
	}
	l, err := os.OpenFile(filepath.Join(c.Out, "ledger.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("output directory: %w", err), v.Close())
	}
	return &output{visits: v, ledger: l, files: []io.Closer{l}}, nil
}

func (o *output) close() error {
	err := o.visits.Close()
	for _, f := range o.files {
		err = errors.Join(err, f.Close())
	}
	if err != nil && !isBrokenPipe(err) {
		return &exitError{exitOutput, err}
	}
	return err
}
