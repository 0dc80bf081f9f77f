package server

import (
	"bufio"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// patience limits the time that a client may take to read a part of a stream.
const patience = 30 * time.Second

// stream is a response body that lasts as long as the client reads and more data follows. Each part has a deadline.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// streamTo begins a stream.
func streamTo(w *recorder) *stream {
	s := &stream{w, http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{}) // no deadline any more: the request has been read completely
	return s
}

// Write writes a part.
func (s *stream) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines may have none
	return s.w.Write(b)
}

func (s *Server) results(w *recorder, r *call) error {
	from, err := number(r, "from", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", math.MaxInt64, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	follow := false
	if text := r.URL.Query().Get("follow"); text != "" {
		if follow, err = strconv.ParseBool(text); err != nil {
			return badQuery("follow: want true or false")
		}
	}
	info, err := s.named(w, r)
	if err != nil {
		return err
	}
	if !r.client.enter() {
		return errStreams
	}
	defer r.client.leave()
	seq := s.manager.ResultsNow
	if follow {
		seq = s.manager.Results
	}
	w.Header().Set("Content-Type", mediaLines)
	to := streamTo(w)
	out := bufio.NewWriterSize(to, 64<<10)
	if follow { // flush now, so that clients see that they are served
		w.WriteHeader(http.StatusOK)
		if err := to.control.Flush(); err != nil {
			return err
		}
	}
	for one, err := range seq(r.Context(), info.ID, from) {
		if err != nil {
			return err
		}
		_, _ = out.Write(one.Visit) // Flush returns the error
		if err = out.WriteByte('\n'); err == nil && follow {
			if err = out.Flush(); err == nil {
				err = to.control.Flush()
			}
		}
		if err != nil {
			return err
		}
		if limit--; limit == 0 {
			return out.Flush()
		}
	}
	if err := out.Flush(); err != nil || !follow {
		return err
	}
	if info, err = s.manager.Info(info.ID); err == nil && !info.State.Ended() { // the server is stopping
		return errors.New("the job has not ended")
	}
	return err
}
