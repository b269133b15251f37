package task

import (
	"fmt"
	"regexp"
	"testing"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNewIDIsAUUIDOfVersion7(t *testing.T) {
	id := NewID(0x0123456789ab)
	if m := uuid.FindStringSubmatch(id); m == nil || m[1] != "7" || id[:13] != "01234567-89ab" {
		t.Errorf("%q is no UUIDv7 of 0x0123456789ab", id)
	}
	if err := ValidateName("name", id); err != nil {
		t.Errorf("an id must do as a name: %v", err)
	}
}

func TestADerivedNameIsAFunctionOfNamespaceAndKey(t *testing.T) {
	id := DeriveName("default", "key")
	if m := uuid.FindStringSubmatch(id); m == nil || m[1] != "8" {
		t.Errorf("%q is no UUIDv8", id)
	}
	if id != DeriveName("default", "key") {
		t.Error("a repeat comes to another name")
	}
	seen := map[string]bool{id: true}
	for _, pair := range [][2]string{{"default", "key2"}, {"other", "key"}, {"defaultk", "ey"}, {"", "defaultkey"}} {
		seen[DeriveName(pair[0], pair[1])] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different ids of 5", len(seen))
	}
}

func TestDigestKeepsItsPartsApart(t *testing.T) {
	seen := map[string]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"abc"}, {"ab", "c"}, {"a", "bc"}, {"a", "b", "c"}} {
		raw := make([][]byte, len(parts))
		for i, p := range parts {
			raw[i] = []byte(p)
		}
		d := Digest(raw...)
		if other, dup := seen[d]; dup || len(d) != 16 {
			t.Errorf("%q has the digest of %s, %d bytes", parts, other, len(d))
		}
		seen[d] = fmt.Sprintf("%q", parts)
	}
}
