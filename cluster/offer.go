package cluster

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Types of messages in an inbox.
const (
	messageOffer = 1
	messageProbe = 2
)

const (
	offerVersion = 1
	offerSize    = 256 << 10 // maximum total bytes of texts in an offer
	maxOffer     = 8 << 20   // limit on decoded bytes; messages that nodes send are far smaller
)

var errOffer = errors.New("cluster: a message of the inbox is damaged, or a newer version wrote it")

// message is an entry of an inbox: an offer or a probe.
type message struct {
	from  int // number of the sending shard
	epoch uint64
	probe uint64             // number of a probe, which the reader repeats in its next sign of life; 0: the message is an offer
	links []frontier.Request // links of an offer
}

func (m *message) encode() []byte {
	b := []byte{offerVersion, messageOffer}
	if m.probe != 0 {
		b[1] = messageProbe
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.from)), m.epoch)
	if m.probe != 0 {
		return binary.AppendUvarint(b, m.probe)
	}
	var links []byte
	for i := range m.links {
		links = appendLink(links, &m.links[i])
	}
	return append(b, s2.Encode(nil, links)...)
}

// send puts m into the inbox of a shard. It retries until the message is acknowledged, ctx ends or ended returns true: then the error is
// the engine's. m may arrive twice, which has no effect.
func (m *message) send(ctx context.Context, e Inboxes, shard int, ended func() bool) error {
	b, id := m.encode(), newNonce()
	for {
		err := e.Send(ctx, shard, hex.EncodeToString(id[:]), b)
		if err == nil || ctx.Err() != nil || ended() {
			return err
		}
		wait(ctx, retry)
	}
}

func decodeMessage(b []byte) (m message, err error) {
	d := decoder{b: b}
	version, what := d.byte(), d.byte()
	m.from, m.epoch = int(d.uint()), d.uint()
	if d.bad || version != offerVersion {
		return m, errOffer
	}
	switch what {
	case messageProbe:
		m.probe = d.uint()
	case messageOffer:
		m.links, err = readLinks(d.b)
	default:
		err = errOffer
	}
	if d.bad {
		err = errOffer
	}
	return m, err
}

func readLinks(b []byte) (all []frontier.Request, err error) {
	if n, err := s2.DecodedLen(b); err != nil || n > maxOffer {
		return nil, errOffer
	}
	if b, err = s2.Decode(nil, b); err != nil {
		return nil, errOffer
	}
	d := decoder{b: b}
	for len(d.b) > 0 {
		r, err := d.link()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// hasScore is a flag in the encoded kind of a link: the link's score follows.
const hasScore = 0x80

func appendLink(b []byte, r *frontier.Request) []byte {
	b = appendText(b, r.URL.String())
	b = appendText(b, r.Via.String())
	b = binary.AppendUvarint(b, uint64(r.Depth))
	if r.Score == 0 {
		b = append(b, byte(r.Priority), byte(r.Kind), r.Beyond)
	} else {
		b = append(b, byte(r.Priority), byte(r.Kind)|hasScore, r.Beyond)
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(r.Score))
	}
	queued := int64(0)
	if !r.Queued.IsZero() {
		queued = r.Queued.UnixNano()
	}
	b = binary.AppendVarint(b, queued)
	b = binary.AppendUvarint(b, uint64(len(r.Hops)))
	for _, h := range r.Hops {
		b = appendText(b, h)
	}
	return appendText(b, string(r.Meta))
}

func (d *decoder) link() (r frontier.Request, err error) {
	text, via := d.text(), d.text()
	r.Depth = int(d.uint())
	r.Priority, r.Kind, r.Beyond = int8(d.byte()), frontier.Kind(d.byte()), d.byte()
	if r.Kind&hasScore != 0 {
		var bits uint64
		for range 8 {
			bits = bits<<8 | uint64(d.byte())
		}
		r.Kind, r.Score = r.Kind&^hasScore, math.Float64frombits(bits)
	}
	if queued := d.int(); queued != 0 {
		r.Queued = time.Unix(0, queued)
	}
	for range min(d.uint(), 1000) {
		r.Hops = append(r.Hops, d.text())
	}
	if meta := d.text(); meta != "" {
		r.Meta = []byte(meta)
	}
	if d.bad {
		return r, errOffer
	}
	if r.URL, err = weburl.Parse(text); err != nil {
		return r, errors.Join(errOffer, err)
	}
	if via != "" {
		if r.Via, err = weburl.Parse(via); err != nil {
			return r, errors.Join(errOffer, err)
		}
	}
	return r, r.Validate()
}

// linkSize estimates the size of a link in an offer, before compression.
func linkSize(r *frontier.Request) int {
	n := len(r.URL.String()) + len(r.Via.String()) + len(r.Meta) + 20
	for _, h := range r.Hops {
		n += len(h) + 1
	}
	return n
}
