package robots

// Disagree lists the dialects that decide otherwise about a path than the dialect of r, in the order of [Dialects]. It shows
// how much depends on the reading of the file.
func (r *Rules) Disagree(agent, pathQuery string) (out []Dialect) {
	mine := r.For(agent).Test(pathQuery).Allowed
	for _, d := range Dialects() {
		if r.In(d).For(agent).Test(pathQuery).Allowed != mine {
			out = append(out, d)
		}
	}
	return out
}
