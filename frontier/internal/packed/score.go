package packed

import "math"

// noRank is the unsigned rank of a score of 0, which takes 23 bits.
const noRank = 1 << 23

// Rank returns a score as a number of 24 bits with the same order: sign, exponent and 15 bits of the mantissa. It is 0 for 0 and
// NaN. Scores that differ by less than a part in 32,768 may have the same rank.
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

// Score returns the score nearest to 0 that has this rank.
func Score(rank int32) float64 {
	if rank < 0 {
		return -Score(-rank)
	}
	return float64(math.Float32frombits(uint32(rank) << 8))
}

// Fine returns a rank as 24 bits in reverse order: a lower number means a higher rank. It is never 0, which is reserved for the
// highest.
func Fine(rank int32) uint32 { return uint32(noRank - rank) }

// RankOf converts the result of Fine back to a rank. It returns 0 for 0.
func RankOf(fine uint32) int32 {
	if fine == 0 {
		return 0
	}
	return noRank - int32(fine)
}
