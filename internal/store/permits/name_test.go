package permits

import "testing"

func FuzzName(f *testing.F) {
	for _, name := range []string{"default/q", "default/q/host:80", "default/q/a/b", "q", "//", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, ok := ParseName(name)
		if again, same := ParseName(Name(s)); ok && (!same || again != s) {
			t.Errorf("%q is %+v, and that is %q", name, s, Name(s))
		}
	})
}
