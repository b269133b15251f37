package bytesize

import "testing"

func TestASizeHasTheUnitThatPeopleRead(t *testing.T) {
	for n, want := range map[int64]string{0: "0.0 kB", 1500: "1.5 kB", 999_900: "999.9 kB", 2_500_000: "2.5 MB", 53_687_091_200: "53.7 GB", 4_000_000_000_000: "4.0 TB", 5_000_000_000_000_000: "5000.0 TB"} {
		if got := Text(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
