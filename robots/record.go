package robots

// record is a part of a file that applies to some robots: User-agent lines and the lines after them. own and star are the indexes of the
// User-agent lines that name this robot and all robots, or -1. The other lines of the record are lines[from:to]; some of them may be
// User-agent lines, too.
type record struct {
	own, star int
	from, to  int
}

// records splits a file into records as its dialect defines them.
func records(r *Rules, bot robot) []record {
	var (
		recs   []record
		open   bool // there is a record to which lines are added
		closed bool // the record has rules, so a User-agent line begins the next record
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

// isRule reports whether a line of this kind is a rule. Rules end a sequence of User-agent lines, other lines do not (RFC 9309 section
// 2.2.4).
func (d Dialect) isRule(k kind) bool { return k == disallow || k == allow && d.knowsAllow() }

// meet records whether User-agent line i names the robot.
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

// span is a record that applies to the robot, with the index head of the line that names the robot.
type span struct{ head, from, to int }

// spans returns the records that apply to the robot: those that name it or, if there are none, those for all robots. In a dialect that
// does not merge records, it returns only the first one.
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
