package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
)

// problemError is the body of an error response (RFC 9457).
type problemError struct {
	Title   string `json:"title"`             // the error
	Status  int    `json:"status"`            // status of the response
	Detail  string `json:"detail,omitempty"`  // details and advice
	Pointer string `json:"pointer,omitempty"` // position of the error in the body (RFC 6901)

	retry time.Duration // delay before a retry; 0: not given
}

// Error returns the title and the detail.
func (p *problemError) Error() string { return strings.TrimSuffix(p.Title+": "+p.Detail, ": ") }

// problemOf converts an error to the response for a client.
func problemOf(err error) *problemError {
	var p *problemError
	var key *job.KeyError
	var seed *jobs.SeedError
	var large *http.MaxBytesError
	var of *job.Error
	detail := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "server: "), "jobs: ") // the names of Go packages mean nothing to a client
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return &problemError{Status: http.StatusRequestEntityTooLarge, Title: "the body is too large", Detail: "up to 1 MiB is taken"}
	case errors.As(err, &key):
		return &problemError{Status: http.StatusBadRequest, Title: "a setting is not taken", Detail: detail, Pointer: "/settings/" + key.Key}
	case errors.As(err, &seed):
		return &problemError{Status: http.StatusBadRequest, Title: "a seed is not taken", Detail: detail, Pointer: fmt.Sprintf("/seeds/%d", seed.Index)}
	case is(jobs.ErrNoJob):
		return &problemError{Status: http.StatusNotFound, Title: "no such job", Detail: "GET /v1/jobs lists all jobs"}
	case is(jobs.ErrKey), is(jobs.ErrState):
		return &problemError{Status: http.StatusConflict, Title: "not possible now", Detail: detail}
	case is(jobs.ErrFull):
		return &problemError{Status: http.StatusTooManyRequests, Title: "the queue is full", Detail: detail, retry: time.Minute}
	case is(jobs.ErrClosed), is(context.Canceled):
		return &problemError{Status: http.StatusServiceUnavailable, Title: "the server is stopping", Detail: "try again when it has started", retry: 10 * time.Second}
	case errors.As(err, &of) && of.Kind == job.Storage, errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)):
		return &problemError{Status: http.StatusInternalServerError, Title: "the server cannot store or read the job", Detail: "the operator has to look after its disk"}
	}
	return &problemError{Status: http.StatusBadRequest, Title: "the request is not taken", Detail: detail}
}

// write sends a problem as the response.
func write(w http.ResponseWriter, p *problemError) {
	h := w.Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if p.retry > 0 {
		h.Set("Retry-After", seconds(p.retry))
	}
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have disconnected
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may have disconnected
	return nil
}
