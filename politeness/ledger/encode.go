package ledger

import (
	"strconv"
	"time"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/internal/jsonl"
)

// Append appends e's line to b, without a newline. Except for times, the bytes are those that encoding/json produces, at a
// fraction of the cost. Times have microseconds, rounded up; a time outside the years 0 to 9999 is omitted, since RFC 3339
// cannot express it.
func (e *Entry) Append(b []byte) []byte {
	b = hidden.AppendJSON(append(b, `{"event":`...), e.Event)
	b = hidden.AppendJSON(append(b, `,"run":`...), e.Run)
	b = strconv.AppendUint(append(b, `,"id":`...), e.ID, 10)
	b = textField(b, `,"url":`, e.URL)
	b = textField(b, `,"for":`, e.For)
	b = textField(b, `,"host":`, e.Host)
	b = textField(b, `,"domain":`, e.Domain)
	b = textField(b, `,"addr":`, e.Addr)
	b = textField(b, `,"purpose":`, e.Purpose)
	b = numberField(b, `,"attempt":`, int64(e.Attempt))
	b = textField(b, `,"agent":`, e.Agent)
	b = timeField(b, `,"queued":`, e.Queued)
	b = timeField(b, `,"allowed":`, e.Allowed)
	b = timeField(b, `,"written":`, e.Written)
	b = clausesField(b, e.Clauses)
	b = textField(b, `,"override":`, e.Override)
	b = textField(b, `,"signed":`, e.Signed)
	b = numberField(b, `,"slot":`, int64(e.Slot))
	if e.Shares {
		b = append(b, `,"shares":true`...)
	}
	b = timeField(b, `,"dropped":`, e.Dropped)
	if e.Behind != 0 {
		b = e.Behind.append(append(b, `,"behind":`...))
	}
	b = timeField(b, `,"first_byte":`, e.FirstByte)
	b = timeField(b, `,"ended":`, e.Ended)
	b = timeField(b, `,"reported":`, e.Reported)
	if e.Took != 0 {
		b = e.Took.append(append(b, `,"took":`...))
	}
	b = numberField(b, `,"status":`, int64(e.Status))
	b = numberField(b, `,"bytes":`, e.Bytes)
	b = textField(b, `,"error":`, e.Err)
	if e.Timeout {
		b = append(b, `,"timeout":true`...)
	}
	b = textField(b, `,"truncated":`, e.Truncated)
	if e.Aborted {
		b = append(b, `,"aborted":true`...)
	}
	b = textField(b, `,"retry_after":`, e.RetryAfter)
	b = textField(b, `,"rate_limit":`, e.RateLimit)
	b = textField(b, `,"date":`, e.Date)
	b = textField(b, `,"location":`, e.Location)
	b = textField(b, `,"sha256":`, e.SHA256)
	if e.Challenged {
		b = append(b, `,"challenged":true`...)
	}
	b = textField(b, `,"wall":`, e.Wall)
	b = timeField(b, `,"expires":`, e.Expires)
	b = textField(b, `,"by":`, e.By)
	b = textField(b, `,"by_run":`, e.ByRun)
	b = textField(b, `,"via":`, e.Via)
	if e.Through != 0 {
		b = strconv.AppendUint(append(b, `,"through":`...), e.Through, 10)
	}
	b = textField(b, `,"token":`, e.Token)
	return append(b, '}')
}

func textField(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	return hidden.AppendJSON(append(b, name...), v)
}

func numberField(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), v, 10)
}

func timeField(b []byte, name string, t time.Time) []byte {
	t = Ceil(t)
	if y := t.Year(); t.IsZero() || y < 0 || y > 9999 {
		return b
	}
	b = append(append(b, name...), '"')
	return append(jsonl.AppendTime(b, t), '"')
}

func clausesField(b []byte, cs []Clause) []byte {
	if len(cs) == 0 {
		return b
	}
	b = append(b, `,"clauses":`...)
	for i, c := range cs {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		b = hidden.AppendJSON(append(append(b, sep), `{"clause":`...), c.Name)
		b = timeField(b, `,"until":`, c.Until)
		if c.Delay != 0 {
			b = c.Delay.append(append(b, `,"delay":`...))
		}
		b = textField(b, `,"by":`, c.By)
		b = append(b, '}')
	}
	return append(b, ']')
}
