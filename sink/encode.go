package sink

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/internal/jsonl"
)

var errYear = errors.New("a time that RFC 3339 cannot express")

// appendRecord appends the JSON form of r. It is byte for byte that of encoding/json, except for times.
func appendRecord(b []byte, r *Record) ([]byte, error) {
	b = hidden.AppendJSON(append(b, `{"schema":`...), r.Schema)
	b = hidden.AppendJSON(append(b, `,"url":`...), r.URL)
	b = optString(b, `,"final":`, r.Final)
	b = optStrings(b, `,"hops":`, r.Hops)
	b = optString(b, `,"via":`, r.Via)
	b = strconv.AppendInt(append(b, `,"depth":`...), int64(r.Depth), 10)
	b = optInt(b, `,"status":`, r.Status)
	b = hidden.AppendJSON(append(b, `,"outcome":`...), r.Outcome)
	b = optString(b, `,"reason":`, r.Reason)
	b = optString(b, `,"rule":`, r.Rule)
	b = optString(b, `,"detail":`, r.Detail)
	b = optString(b, `,"error":`, r.Error)
	b = optString(b, `,"type":`, r.Type)
	b = optString(b, `,"charset":`, r.Charset)
	b = optString(b, `,"charset_from":`, r.CharsetFrom)
	b = optInt(b, `,"bytes":`, r.Bytes)
	b = optString(b, `,"truncated":`, r.Truncated)
	if r.Cached {
		b = append(b, `,"cached":true`...)
	}
	b = optString(b, `,"sha256":`, r.SHA256)
	b = optString(b, `,"etag":`, r.ETag)
	b = optString(b, `,"last_modified":`, r.LastModified)
	b = optString(b, `,"title":`, r.Title)
	b = optString(b, `,"canonical":`, r.Canonical)
	b = optStrings(b, `,"directives":`, r.Directives)
	b = optUsage(b, `,"usage":`, r.Usage)
	b, errT := optObject(b, `,"terms":`, r.Terms)
	b = optString(b, `,"same_as":`, r.SameAs)
	b = optString(b, `,"near_of":`, r.NearOf)
	if r.Links != nil {
		b = appendLinks(append(b, `,"links":`...), r.Links)
	}
	b, errR := optObject(b, `,"rendered":`, r.Rendered)
	b, err0 := optData(b, `,"data":`, r.Data)
	b = optInt(b, `,"attempt":`, r.Attempt)
	b, err1 := optTime(b, `,"queued":`, r.Queued)
	b, err2 := optTime(b, `,"started":`, r.Started)
	b, err3 := optTime(b, `,"ended":`, r.Ended)
	if r.WARC != nil {
		b = appendLocation(append(b, `,"warc":`...), r.WARC)
	}
	return append(b, '}'), errors.Join(errT, errR, err0, err1, err2, err3)
}

func optUsage(b []byte, name string, us []Usage) []byte {
	if len(us) == 0 {
		return b
	}
	b = append(append(b, name...), '[')
	for i := range us {
		if i > 0 {
			b = append(b, ',')
		}
		b = hidden.AppendJSON(append(b, `{"use":`...), us[i].Use)
		b = hidden.AppendJSON(append(b, `,"signal":`...), us[i].Signal)
		b = hidden.AppendJSON(append(b, `,"origin":`...), us[i].Origin)
		if us[i].Value != "" {
			b = hidden.AppendJSON(append(b, `,"value":`...), us[i].Value)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// optObject appends an object that is rare in lines. Package encoding/json encodes it.
func optObject[T any](b []byte, name string, r *T) ([]byte, error) {
	if r == nil {
		return b, nil
	}
	all, err := json.Marshal(r)
	return append(append(b, name...), hidden.Escape(all)...), err
}

// optData appends values that are valid JSON, without white space between tokens.
func optData(b []byte, name string, data []json.RawMessage) ([]byte, error) {
	if len(data) == 0 {
		return b, nil
	}
	all, err := json.Marshal(data)
	return append(append(b, name...), hidden.Escape(all)...), err
}

func appendLinks(b []byte, n *LinkCount) []byte {
	b = strconv.AppendInt(append(b, `{"found":`...), int64(n.Found), 10)
	b = optInt(b, `,"follow":`, n.Follow)
	b = optInt(b, `,"out_of_scope":`, n.OutOfScope)
	b = optInt(b, `,"too_deep":`, n.TooDeep)
	b = optInt(b, `,"nofollow":`, n.NoFollow)
	b = optInt(b, `,"resource":`, n.Resource)
	b = optInt(b, `,"invalid":`, n.Invalid)
	b = optInt(b, `,"trap":`, n.Trap)
	b = optInt(b, `,"link_limit":`, n.Limit)
	b = optInt(b, `,"queue_full":`, n.Full)
	return append(b, '}')
}

func appendLocation(b []byte, l *Location) []byte {
	b = hidden.AppendJSON(append(b, `{"file":`...), l.File)
	b = strconv.AppendInt(append(b, `,"offset":`...), l.Offset, 10)
	b = strconv.AppendInt(append(b, `,"length":`...), l.Length, 10)
	return append(b, '}')
}

func optString(b []byte, key, v string) []byte {
	if v == "" {
		return b
	}
	return hidden.AppendJSON(append(b, key...), v)
}

func optInt(b []byte, key string, v int) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), int64(v), 10)
}

func optStrings(b []byte, key string, v []string) []byte {
	if len(v) == 0 {
		return b
	}
	b = append(append(b, key...), '[')
	for i, s := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = hidden.AppendJSON(b, s)
	}
	return append(b, ']')
}

// optTime appends a time truncated to microseconds, or returns the error of time.Time.MarshalJSON.
func optTime(b []byte, key string, t time.Time) ([]byte, error) {
	if t.IsZero() {
		return b, nil
	}
	_, zone := t.Zone()
	if y := t.Year(); y < 0 || y > 9999 || zone <= -24*3600 || zone >= 24*3600 {
		return b, errYear
	}
	b = append(append(b, key...), '"')
	return append(jsonl.AppendTime(b, t), '"'), nil
}
