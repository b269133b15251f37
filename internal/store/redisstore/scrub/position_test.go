package scrub

import "testing"

func TestAScrubPositionAfterAnyMemberIsDecodedAsEncoded(t *testing.T) {
	for _, after := range []string{"", "default/a", "default/\x00\x9a\x00", "\x00"} {
		want := position{shard: 1, space: 8, lane: "default/q", scan: "17", after: after}
		if got, err := parsePosition(want.String()); err != nil || got != want {
			t.Errorf("behind %q it goes on at %+v: %v", after, got, err)
		}
	}
}
