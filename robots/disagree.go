package robots

// Disagree lists the dialects that would decide otherwise about a path than the default one, in the order of [Dialects]: how
// much depends on how the file is read.
func Disagree(body []byte, agent, pathQuery string, opts ...Option) []Dialect {
	return Parse(body, opts...).Disagree(agent, pathQuery)
}

// Disagree lists the dialects that would decide otherwise than the one in which r was read.
func (r *Rules) Disagree(agent, pathQuery string) (out []Dialect) {
	mine := r.For(agent).Test(pathQuery).Allowed
	for _, d := range Dialects() {
		if r.In(d).For(agent).Test(pathQuery).Allowed != mine {
			out = append(out, d)
		}
	}
	return out
}
