package disk

import (
	"encoding/binary"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// Checkpoint keys are part of the directory format: those of the owner "" must stay as they were before owners existed.
func TestKeysOfCheckpoints(t *testing.T) {
	s := openMem(t, testConfig(), tuned())
	for _, owner := range []string{"", "shard 1"} {
		c := frontier.Checkpoint{Owner: owner, Offsets: map[string]int64{"visits": 7}, Values: map[string][]byte{"x/y": []byte("value")}}
		if err := s.Commit(t.Context(), nil, c); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{
		"movisits":            string(binary.BigEndian.AppendUint64(nil, 7)),
		"mkx/y":               "value",
		"mO\x07shard 1visits": string(binary.BigEndian.AppendUint64(nil, 7)),
		"mK\x07shard 1x/y":    "value",
	} {
		if got, err := s.engine.get([]byte(key)); string(got) != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", key, got, err, want)
		}
	}
}
