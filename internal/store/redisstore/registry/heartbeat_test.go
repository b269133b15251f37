package registry

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

func TestTheStateOfANodeIsDecodedAsEncoded(t *testing.T) {
	for _, p := range []membership.Peer{
		{Name: "a", Nonce: "N", Beat: 7},
		{Name: "b", Nonce: "M", Beat: 8, Version: "v1", Started: 5, Address: "[::1]:80", Draining: true},
		{Name: "c", Nonce: "O", Beat: 9, Draining: true, Forced: true},
		{Name: "d", Nonce: "P", Beat: 9, Address: "h:1", Applied: "7-ab", More: "i:1,j:1", Lag: time.Second, Duplicate: true},
	} {
		list := []string{p.Name, "", drainField + "x", "N"}
		if p.Duplicate {
			list[0] = duplicateField + p.Name
		}
		list[1] = redisconn.Score(p.Beat) + "/" + p.Nonce + "/" + about(&p)
		if p.Draining {
			list = append(list, drainField+p.Name, map[bool]string{true: "!", false: ""}[p.Forced]+p.Nonce)
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
