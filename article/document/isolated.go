package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"
)

// Isolated reads each document in a separate process. A process that exceeds its limits is killed, and its document is not read. The
// process has an empty environment, and uses only its input and output. On Linux the kernel limits its memory, processor time and open
// files; elsewhere the process itself watches its memory.
//
// At most as many processes run at a time as the machine has processors. The fields must not change after the first call of Read. Read may
// be called concurrently.
type Isolated struct {
	// Command is the program to start, with its arguments. It must call [Serve] with its standard input and output, and do nothing else. A
	// program can start itself, with an argument that selects this mode.
	Command []string
	MaxTime time.Duration // limit for each document, in real time. 0: 20 s
	// MaxMemory limits the memory of a process, in bytes; for small documents it needs some 20 MiB. 0: 512 MiB.
	MaxMemory int64

	once  sync.Once
	slots chan struct{}
}

// ErrLimit is returned for a document that needed more time or memory than an [Isolated] permits, or that made the process crash.
var ErrLimit = errors.New("document: the file was given up")

// maxAnswer limits the output of a process.
const maxAnswer = 4 * maxText

// request is the first line of a process's input. The document follows it.
type request struct {
	Type   string `json:"type"`
	Memory int64  `json:"memory"`
	Time   int64  `json:"time"` // processor time in seconds
}

// answer holds the output of a process.
type answer struct {
	*Document

	Error string `json:"error,omitempty"`
}

// Read reads a document in a separate process. The error is [ErrNotRead], [ErrLimit] or the context's, or means that Command cannot be
// started.
func (r *Isolated) Read(ctx context.Context, body []byte, mediaType string) (*Document, error) {
	r.once.Do(func() { r.slots = make(chan struct{}, runtime.GOMAXPROCS(0)) })
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	q := request{Type: mediaType, Memory: r.MaxMemory}
	if q.Memory <= 0 {
		q.Memory = 512 << 20
	}
	limit := r.MaxTime
	if limit <= 0 {
		limit = 20 * time.Second
	}
	q.Time = int64(math.Ceil(limit.Seconds()))
	head, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &capped{left: maxAnswer, full: cancel}
	cmd := exec.CommandContext(within, r.Command[0], r.Command[1:]...)
	cmd.Env = []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")} // required on Windows
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(body))
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var a answer
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(within.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: it took more than %s", ErrLimit, limit)
	case out.left < 0:
		return nil, fmt.Errorf("%w: its text is too long", ErrLimit)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("%w: its process ended with %w; it may have needed more than %d MiB", ErrLimit, exit, q.Memory>>20)
	case err != nil && cmd.ProcessState == nil:
		return nil, fmt.Errorf("document: start the process that reads files: %w", err)
	}
	if err := json.Unmarshal(out.data.Bytes(), &a); err != nil {
		return nil, fmt.Errorf("%w: its process gave no answer", ErrLimit)
	}
	if a.Error != "" || a.Document == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotRead, strings.TrimPrefix(a.Error, ErrNotRead.Error()+": "))
	}
	return a.Document, nil
}

// capped is a buffer that ends its process when it is full. It must not have a method ReadFrom, which would read beyond the limit.
type capped struct {
	data bytes.Buffer
	left int
	full func()
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		c.full()
		return 0, io.ErrShortWrite
	}
	return c.data.Write(p)
}

// Serve reads one document from in and writes the result to out, for an [Isolated] in another process. It limits the memory and the
// processor time of the calling process for good, so call it in a process that does nothing else and ends afterwards.
func Serve(in io.Reader, out io.Writer) error {
	var q request
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	head, body, _ := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(head, &q); err != nil {
		return err
	}
	debug.SetMaxStack(64 << 20)
	debug.SetMemoryLimit(q.Memory * 3 / 4) // collect garbage before the limit is reached
	if err := limitProcess(q.Memory, q.Time); err != nil {
		return err
	}
	go watchMemory(uint64(q.Memory))
	d, err := Read(context.Background(), body, q.Type)
	a := answer{Document: d}
	if err != nil {
		a.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(a)
}

// watchMemory ends the process when it uses more memory than limit, on systems that do not limit it themselves.
func watchMemory(limit uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > limit {
			os.Exit(exitMemory)
		}
	}
}

// exitMemory is the exit code of a process that has exceeded its memory limit.
const exitMemory = 3
