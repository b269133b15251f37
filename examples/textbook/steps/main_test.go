package main

import (
	"bytes"
	"testing"
)

func TestTheNumbersOfTheArticles(t *testing.T) {
	const want = `a ring of 8 slots, hand at slot 1
  after    0: slot 5, 0 rounds, 4 left
  after    4: due
a ring of 8 slots, hand at slot 1
  after    0: slot 3, 6 rounds, 50 left
  after    2: slot 3, 5 rounds, 48 left
  after   10: slot 3, 4 rounds, 40 left
  after   18: slot 3, 3 rounds, 32 left
  after   26: slot 3, 2 rounds, 24 left
  after   34: slot 3, 1 rounds, 16 left
  after   42: slot 3, 0 rounds, 8 left
  after   50: due
rings of [60 60 24] slots, which reach 86400 ticks, 0 ticks old
  after    0: ring 2, slot 1, 7100 left
  after 3600: ring 1, slot 58, 3500 left
  after 7080: ring 0, slot 20, 20 left
  after 7100: due
rings of [8 8 8] slots, which reach 512 ticks, 12 ticks old
  after    0: ring 2, slot 7, 500 left
  after  436: ring 1, slot 7, 64 left
  after  492: ring 0, slot 0, 8 left
  after  500: due
`
	var out bytes.Buffer
	articles(&out)
	t.Logf("\n%s", &out)
	if out.String() != want {
		t.Errorf("want:\n%s", want)
	}
}
