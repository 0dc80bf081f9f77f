package politeness

// SweepNext lets g look for clocks to forget at its next occasion, rather than when there are 131,072 of
// them. What it forgets then is its own affair.
func SweepNext(g *Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle.at = 0
}
