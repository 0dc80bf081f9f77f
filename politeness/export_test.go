package politeness

// SweepNext makes g look for hosts to forget the next time that it can, instead of when it has 131,072 clocks of hosts and addresses. The
// Gate decides which of them it forgets.
func SweepNext(g *Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle.at = 0
}
