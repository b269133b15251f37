package membership

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

func TestTheStateOfANodeIsDecodedAsEncoded(t *testing.T) {
	for _, p := range []peer{
		{name: "a", nonce: "N", beat: 7},
		{name: "b", nonce: "M", beat: 8, version: "v1", started: 5, address: "[::1]:80", draining: true},
		{name: "c", nonce: "O", beat: 9, draining: true, forced: true},
		{name: "d", nonce: "P", beat: 9, address: "h:1", applied: "7-ab", more: "i:1,j:1", lag: time.Second, duplicate: true},
	} {
		list := []string{p.name, "", drainField + "x", "N"}
		if p.duplicate {
			list[0] = duplicateField + p.name
		}
		list[1] = redisconn.Score(p.beat) + "/" + p.nonce + "/" + p.about()
		if p.draining {
			list = append(list, drainField+p.name, map[bool]string{true: "!", false: ""}[p.forced]+p.nonce)
		}
		got, err := parsePeers(list)
		if err != nil || len(got) != 1 || got[0] != p {
			t.Errorf("%+v, %v, want %+v", got, err, p)
		}
	}
}

func FuzzParsePeers(f *testing.F) {
	f.Add("a", "1795000000000/NONCE/1.2.3/1795000000000/0/v-1/127.0.0.1:8080")
	f.Add("drain/a", "!NONCE")
	f.Add("twin/a", "1795000000000/NONCE/1.2.3/1795000000000/0/v-1/127.0.0.1:8080")
	f.Add("a", "1/")
	f.Fuzz(func(t *testing.T, name, value string) {
		peers, err := parsePeers([]string{name, value, drainField + name, value})
		if err == nil && len(peers) > 1 {
			t.Error(peers)
		}
	})
}
