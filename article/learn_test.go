package article

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// table holds the blocks of pages for learning.
type table struct {
	rows          [][]float32
	label, weight []float32
}

// learnStages learns a model. The second stage uses predictions of the first one for pages that it was not trained on.
func learnStages(all []*sample) *model {
	inner := folds(all, 4, 5)
	for i := range inner {
		f := learn(firstTable(without(inner, i)))
		for _, s := range inner[i] {
			s.locate()
			s.first = s.page.first(f, s.inner)
		}
	}
	var t table
	for _, s := range all {
		s.locate()
		s.page.locate(func(i int) float32 { return s.first[i] })
		means := s.page.means(s.first)
		for i, row := range s.inner {
			if s.weight[i] > 0 {
				t.add(s.page.context(slices.Clone(row), i, s.first, means), s.label[i], s.weight[i])
			}
		}
	}
	m := &model{*learn(firstTable(all)), *learn(t)}
	m[1].bias -= caution
	return m
}

func firstTable(all []*sample) (t table) {
	for _, s := range all {
		for i, row := range s.inner {
			if s.weight[i] > 0 {
				t.add(row, s.label[i], s.weight[i])
			}
		}
	}
	return t
}

func (t *table) add(row []float32, label, weight float32) {
	t.rows, t.label, t.weight = append(t.rows, row), append(t.label, label), append(t.weight, weight)
}

// Parameters of learning, chosen by cross-validation.
const (
	treeCount  = 200
	rate       = 0.06 // weight of each tree's values
	shrinkage  = 0.3  // added to the weight of a leaf
	leastLeaf  = 0.1  // minimum weight of a leaf; the text of a page weighs 1
	columnPart = 0.3  // share of the features that a tree may use
	rowPart    = 0.7  // share of the blocks that a tree is learned from
	bins       = 32
	caution    = 0.4 // subtracted from the log-odds of each block, so that fewer doubtful blocks are kept
)

// learn fits boosted trees to labels between 0 and 1, by logistic loss.
func learn(t table) *forest {
	rng := rand.New(rand.NewPCG(1, 2))
	n, m := len(t.rows), len(t.rows[0])
	cuts, binned := make([][]float32, m), make([][]uint8, m)
	for j := range m {
		cuts[j] = cutsOf(t.rows, j)
		binned[j] = make([]uint8, n)
		for i := range n {
			binned[j][i] = uint8(sort.Search(len(cuts[j]), func(k int) bool { return t.rows[i][j] <= cuts[j][k] }))
		}
	}
	var sum, total float64
	for i := range n {
		sum += float64(t.label[i] * t.weight[i])
		total += float64(t.weight[i])
	}
	f := &forest{bias: float32(math.Log(sum / (total - sum)))}
	score, g, h := make([]float64, n), make([]float64, n), make([]float64, n)
	for range treeCount {
		var rows []int32
		for i := range n {
			p := 1 / (1 + math.Exp(-score[i]-float64(f.bias)))
			g[i] = float64(t.weight[i]) * (float64(t.label[i]) - p)
			h[i] = float64(t.weight[i]) * max(p*(1-p), 1e-6)
			if rng.Float64() < rowPart {
				rows = append(rows, int32(i))
			}
		}
		grower := grower{g: g, h: h, cuts: cuts, binned: binned}
		for j := range m {
			if rng.Float64() < columnPart && len(cuts[j]) > 0 {
				grower.columns = append(grower.columns, j)
			}
		}
		grower.grow(rows, 0)
		f.trees = append(f.trees, grower.tree)
		one := forest{trees: f.trees[len(f.trees)-1:]}
		for i := range n {
			score[i] += float64(one.score(t.rows[i]))
		}
	}
	return f
}

// cutsOf returns the thresholds between the values of a feature.
func cutsOf(rows [][]float32, j int) (cuts []float32) {
	var v []float32
	for i := 0; i < len(rows); i += max(1, len(rows)/4000) {
		v = append(v, rows[i][j])
	}
	slices.Sort(v)
	if u := slices.Compact(slices.Clone(v)); len(u) < bins {
		return u[:len(u)-1]
	}
	for k := 1; k < bins; k++ {
		if u := v[k*len(v)/bins]; len(cuts) == 0 || cuts[len(cuts)-1] < u {
			cuts = append(cuts, u)
		}
	}
	return cuts
}

// grower makes one tree.
type grower struct {
	tree    tree
	g, h    []float64 // gradient and curvature of the loss, of each row
	cuts    [][]float32
	binned  [][]uint8
	columns []int
}

// grow makes a node and the nodes below it. A node that should not be split passes everything to the left.
func (w *grower) grow(rows []int32, node int) {
	var sg, sh float64
	for _, i := range rows {
		sg += w.g[i]
		sh += w.h[i]
	}
	if leaf := node - len(w.tree.feature); leaf >= 0 {
		w.tree.value[leaf] = float32(math.Round(rate*sg/(sh+shrinkage)*1e4) / 1e4)
		return
	}
	best, feature, cut := 1e-4, -1, 0
	for _, j := range w.columns {
		var bg, bh [bins]float64
		for _, i := range rows {
			bg[w.binned[j][i]] += w.g[i]
			bh[w.binned[j][i]] += w.h[i]
		}
		var lg, lh float64
		for c := range w.cuts[j] {
			lg, lh = lg+bg[c], lh+bh[c]
			if lh < leastLeaf || sh-lh < leastLeaf {
				continue
			}
			if gain := lg*lg/(lh+shrinkage) + (sg-lg)*(sg-lg)/(sh-lh+shrinkage) - sg*sg/(sh+shrinkage); gain > best {
				best, feature, cut = gain, j, c
			}
		}
	}
	left, right := rows, []int32(nil)
	w.tree.threshold[node] = 1e30
	if feature >= 0 {
		w.tree.feature[node], w.tree.threshold[node] = uint8(feature), w.cuts[feature][cut]
		left = nil
		for _, i := range rows {
			if int(w.binned[feature][i]) <= cut {
				left = append(left, i)
			} else {
				right = append(right, i)
			}
		}
	}
	w.grow(left, 2*node+1)
	w.grow(right, 2*node+2)
}
