package packed

import "math"

// noRank is the unsigned rank of the score 0. Ranks have 23 bits below it.
const noRank = 1 << 23

// Rank returns a 24-bit number that orders like the score: its sign, exponent and 15 bits of the mantissa. The rank of 0 and of NaN is 0.
// Scores that differ by less than a part in 32,768 may have the same rank.
func Rank(score float64) int32 {
	f := float32(score)
	if f != f {
		return 0
	}
	bits := math.Float32bits(f)
	rank := int32(bits & (1<<31 - 1) >> 8)
	if bits>>31 != 0 {
		return -rank
	}
	return rank
}

// Score returns the score that has this rank and is nearest to 0.
func Score(rank int32) float64 {
	if rank < 0 {
		return -Score(-rank)
	}
	return float64(math.Float32frombits(uint32(rank) << 8))
}

// Fine returns a rank as a 24-bit number in reverse order: a lower number means a higher rank. It is never 0, which stands for the
// highest rank.
func Fine(rank int32) uint32 { return uint32(noRank - rank) }

// RankOf converts the result of Fine back to a rank. It returns 0 for 0.
func RankOf(fine uint32) int32 {
	if fine == 0 {
		return 0
	}
	return noRank - int32(fine)
}
