package robots

// record is a part of a file that is for some robots: User-agent lines and the lines after them. own and star are the
// indexes of the lines that name this robot and all robots, or -1. The record's other lines are lines[from:to], which
// may include more of its User-agent lines.
type record struct {
	own, star int
	from, to  int
}

// records splits a file as the dialect says.
func records(r *Rules, bot robot) []record {
	var (
		recs   []record
		open   bool // there is a record that lines belong to
		closed bool // it has rules: a User-agent line begins the next one
	)
	for i, l := range r.lines {
		if l.has(afterBlank) && r.dialect.blankEnds() {
			open = false
		}
		if l.kind == userAgent {
			if !open || closed {
				recs = append(recs, record{own: -1, star: -1, from: i, to: i})
				open, closed = true, false
			}
			recs[len(recs)-1].meet(r, i, bot)
		}
		if open {
			recs[len(recs)-1].to = i + 1
		}
		closed = closed || r.dialect.isRule(l.kind)
	}
	return recs
}

// isRule reports whether a line of this kind is a rule, and so ends a run of User-agent lines. No
// other line does (RFC 9309 section 2.2.4).
func (d Dialect) isRule(k kind) bool { return k == disallow || k == allow && d.knowsAllow() }

// meet records whether the User-agent line i names the robot.
func (rec *record) meet(r *Rules, i int, bot robot) {
	l := r.lines[i]
	own, star := r.dialect.matchAgent(r.body[l.value:l.end], bot)
	if own && rec.own < 0 {
		rec.own = i
	}
	if star && rec.star < 0 {
		rec.star = i
	}
}

// span is a record that applies to the robot, with the line that names it.
type span struct{ head, from, to int }

// spans returns the records that apply to the robot: those that name it, or else those for all robots. In a dialect that does not
// merge, only the first of them counts.
func spans(r *Rules, bot robot) []span {
	recs := records(r, bot)
	out := pick(recs, func(rec record) int { return rec.own })
	if out == nil {
		out = pick(recs, func(rec record) int { return rec.star })
	}
	if len(out) > 1 && !r.dialect.merges() {
		out = out[:1]
	}
	return out
}

func pick(recs []record, head func(record) int) (out []span) {
	for _, rec := range recs {
		if h := head(rec); h >= 0 {
			out = append(out, span{h, rec.from, rec.to})
		}
	}
	return out
}
