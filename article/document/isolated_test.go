package document_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/article/document"
)

// inProcess reads documents in this process.
type inProcess struct{}

func (inProcess) Read(ctx context.Context, body []byte, mediaType string) (*document.Document, error) {
	return document.Read(ctx, body, mediaType)
}

// The test program is also the process that reads documents, in a correct version and in several faulty ones.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "read-document":
			if err := document.Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "environment":
			if os.Getenv("HOME") == "" && os.Getenv("PATH") == "" {
				_ = document.Serve(os.Stdin, os.Stdout)
			}
			os.Exit(0)
		case "hang":
			_, _ = io.Copy(io.Discard, os.Stdin) // reads its input first, like a program that has begun to work
			select {}
		case "crash":
			os.Exit(9)
		case "flood":
			for _, err := os.Stdout.Write(make([]byte, 1<<20)); err == nil; _, err = os.Stdout.Write(make([]byte, 1<<20)) {
			}
			os.Exit(0)
		case "nonsense":
			fmt.Println("{")
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func isolated(word string) *document.Isolated {
	return &document.Isolated{Command: []string{os.Args[0], word}, MaxTime: time.Minute}
}

func TestIsolatedReadsAsInThisProcess(t *testing.T) {
	want := read(t, herons(), document.PDF)
	got, err := isolated("read-document").Read(t.Context(), herons(), document.PDF)
	if err != nil || !reflect.DeepEqual(got.Pages, want.Pages) || !reflect.DeepEqual(got.Links, want.Links) || got.Title != want.Title {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := isolated("environment").Read(t.Context(), herons(), document.PDF); err != nil {
		t.Errorf("with an environment: %v", err)
	}
	if d, err := isolated("read-document").Read(t.Context(), []byte("%PDF-1.7 broken"), document.PDF); !errors.Is(err, document.ErrNotRead) || d != nil {
		t.Errorf("error %v", err)
	}
}

func TestProcessesThatMisbehaveAreGivenUp(t *testing.T) {
	hanging := isolated("hang")
	hanging.MaxTime = 100 * time.Millisecond
	small := isolated("read-document")
	small.MaxMemory = 4 << 20
	for name, r := range map[string]*document.Isolated{
		"hang": hanging, "crash": isolated("crash"), "flood": isolated("flood"), "nonsense": isolated("nonsense"), "memory": small,
	} {
		if d, err := r.Read(t.Context(), herons(), document.PDF); !errors.Is(err, document.ErrLimit) || d != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := isolated("hang").Read(canceled(t), herons(), document.PDF); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	missing := &document.Isolated{Command: []string{"/nowhere/program"}}
	if _, err := missing.Read(t.Context(), herons(), document.PDF); err == nil || errors.Is(err, document.ErrLimit) || !strings.Contains(err.Error(), "start the process") {
		t.Errorf("error %v", err)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
