package decode

import "testing"

func TestDocumentsWithOneMeaningDifferOnlyInForm(t *testing.T) {
	same := func(a, b string) bool { return string(Meaning([]byte(a))) == string(Meaning([]byte(b))) }
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null,"x"]}`, " { \"b\" : [ true , null , \"\\u0078\" ] , \"\\u0061\" : 1 } ", true},
		{`[{"a":{"b":1,"c":2}}]`, `[{"a":{"c":2,"b":1}}]`, true},
		{`{"a":{"b":1},"c":2}`, `{"a":{"c":2},"b":1}`, false},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[12]`, false},
		{`[[1],2]`, `[1,[2]]`, false},
		{`[]`, `{}`, false},
		{`["1"]`, `[1]`, false},
		{`[null]`, `["null"]`, false},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`x`, ` x`, false}, // not JSON: compared by their bytes
	} {
		if got := same(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
