package main

import "math"

// point is a position in the plane.
type point struct{ x, y float64 }

// rounds is the number of rounds in which the layout moves every node.
const rounds = 300

// layout places nodes so that those joined by an edge are close to each other and others are not. All nodes push each other away, edges
// pull, and nodes move less from round to round (the force-directed method of Fruchterman and Reingold, 1991). It starts with rings by
// depth and uses no randomness, so a graph always looks the same. Its time grows with the square of the number of nodes.
func layout(depths []int, edges [][2]int) []point {
	at := rings(depths)
	force := make([]point, len(at))
	start := math.Sqrt(float64(len(at)))
	for round := range rounds {
		repel(at, force)
		for _, e := range edges {
			pull(at, force, e[0], e[1])
		}
		move(at, force, start*(1-float64(round)/rounds)/4)
	}
	return at
}

// rings places each node on the circle of its depth. The golden angle between consecutive nodes keeps them apart.
func rings(depths []int) []point {
	golden := math.Pi * (3 - math.Sqrt(5))
	at := make([]point, len(depths))
	for i, d := range depths {
		r := float64(min(d, 20)) + float64(i)/float64(len(depths))
		sin, cos := math.Sincos(float64(i) * golden)
		at[i] = point{r * cos, r * sin}
	}
	return at
}

// nearest is the minimum distance used to compute forces, so that nodes at almost the same position do not fly apart.
const nearest = 1e-3

// repel sets the forces on nodes: away from each other, and a little towards the middle, so that parts without connection stay in the
// picture.
func repel(at, force []point) {
	const middle = 0.05
	for i := range at {
		force[i] = point{-at[i].x * middle, -at[i].y * middle}
	}
	for i := range at {
		for j := range i {
			dx, dy := at[i].x-at[j].x, at[i].y-at[j].y
			f := 1 / max(dx*dx+dy*dy, nearest)
			force[i].x, force[i].y = force[i].x+dx*f, force[i].y+dy*f
			force[j].x, force[j].y = force[j].x-dx*f, force[j].y-dy*f
		}
	}
}

func pull(at, force []point, i, j int) {
	dx, dy := at[i].x-at[j].x, at[i].y-at[j].y
	f := math.Hypot(dx, dy)
	force[i].x, force[i].y = force[i].x-dx*f, force[i].y-dy*f
	force[j].x, force[j].y = force[j].x+dx*f, force[j].y+dy*f
}

// move moves each node along its force, by at most most.
func move(at, force []point, most float64) {
	for i, f := range force {
		length := math.Hypot(f.x, f.y)
		if length == 0 {
			continue
		}
		step := min(length, most) / length
		at[i].x, at[i].y = at[i].x+f.x*step, at[i].y+f.y*step
	}
}

// fit scales the points into a square with this side and margin, and keeps their proportions.
func fit(at []point, side, margin float64) {
	if len(at) == 0 {
		return
	}
	low, high := at[0], at[0]
	for _, p := range at {
		low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
	}
	scale := (side - 2*margin) / max(high.x-low.x, high.y-low.y, nearest)
	mid := point{(low.x + high.x) / 2, (low.y + high.y) / 2}
	for i, p := range at {
		at[i] = point{side/2 + (p.x-mid.x)*scale, side/2 + (p.y-mid.y)*scale}
	}
}
