package robots

// Disagree is which dialects would decide otherwise about a path than the default one, in the order
// of [Dialects]: how much hangs on the way the file is read.
func Disagree(body []byte, agent, pathQuery string, opts ...Option) []Dialect {
	return Parse(body, opts...).Disagree(agent, pathQuery)
}

// Disagree is which dialects would decide otherwise than the one r is read in.
func (r *Rules) Disagree(agent, pathQuery string) (out []Dialect) {
	mine := r.For(agent).Test(pathQuery).Allowed
	for _, d := range Dialects() {
		if r.In(d).For(agent).Test(pathQuery).Allowed != mine {
			out = append(out, d)
		}
	}
	return out
}
