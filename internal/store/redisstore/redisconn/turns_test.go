package redisconn

import "testing"

// An import waits with 100 runs of 64 items, and the node and another namespace have
// one item each.
func TestSendersTakeTurns(t *testing.T) {
	var waiting turns
	run := func(sender string, items int) *write { return &write{sender: sender, items: make([]*Item, items)} }
	var imported []*write
	for range 100 {
		imported = append(imported, run("import", maxItems))
	}
	claim, create, later := run("", 1), run("shop", 1), run("shop", 1)
	waiting.add(imported)
	waiting.add([]*write{claim, create})
	waiting.add([]*write{later})

	first := waiting.take(maxBatchItems)
	place := map[*write]int{}
	for i, w := range first {
		place[w] = i + 1
	}
	if place[claim] != 1 || place[imported[0]] != 2 || place[create] != 3 || place[later] != 4 {
		t.Errorf("places in the first batch: claim %d, import %d, create %d, the next create %d; want 1 to 4", place[claim], place[imported[0]], place[create], place[later])
	}
	taken, next := 0, 0
	for batch := first; len(batch) > 0; batch = waiting.take(maxBatchItems) {
		items := 0
		for _, w := range batch {
			if items += len(w.items); w.sender == "import" {
				if w != imported[next] {
					t.Fatalf("run %d of the import was overtaken by a later one", next)
				}
				next++
			}
		}
		if items >= maxBatchItems+maxItems {
			t.Errorf("a batch has %d items", items)
		}
		taken += len(batch)
	}
	if next != len(imported) || taken != 103 || len(waiting.senders) != 0 {
		t.Errorf("%d runs of the import, %d writes, and %d senders are left", next, taken, len(waiting.senders))
	}
}
