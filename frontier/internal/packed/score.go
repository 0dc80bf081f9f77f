package packed

import "math"

// noRank is the rank of a score of 0 without its sign: 23 bits.
const noRank = 1 << 23

// Rank returns a score as a number of 24 bits with the same order, 0 for 0 and what is not a number: sign, exponent and 15 bits of
// the mantissa. Scores that differ by less than a part in 32,768 may have the same rank.
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

// Score returns the score with that rank that is nearest to 0.
func Score(rank int32) float64 {
	if rank < 0 {
		return -Score(-rank)
	}
	return float64(math.Float32frombits(uint32(rank) << 8))
}

// Fine returns a rank as 24 bits of which a lower number is the higher rank. It is never 0, which is the highest.
func Fine(rank int32) uint32 { return uint32(noRank - rank) }

// RankOf returns the inverse of Fine, 0 for 0.
func RankOf(fine uint32) int32 {
	if fine == 0 {
		return 0
	}
	return noRank - int32(fine)
}
