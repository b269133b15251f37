package redisconn

import "testing"

// Replies can be read in another order than the server made them. A server that lost 3 of 10
// changes makes another one, and a reader then finds 8.
func TestAChangeThatIsNotConfirmedYetHidesNoLostOne(t *testing.T) {
	for name, inOrder := range map[string]bool{"in order": true, "the reader first": false} {
		t.Run(name, func(t *testing.T) {
			c := newCounters()
			for i := range int64(10) {
				c.See("k", c.Base("k"), i, 1)
			}
			base := c.Base("k")
			if inOrder {
				c.See("k", base, 7, 1)
				c.See("k", base, 8, 0)
			} else {
				c.See("k", base, 8, 0)
				c.See("k", base, 7, 1)
			}
			if n := c.Lost(); n != 3 {
				t.Errorf("%d changes are lost, not 3", n)
			}
			c.See("k", c.Base("k"), 8, 1)
			if n := c.Lost(); n != 0 {
				t.Errorf("later, %d changes are lost again", n)
			}
		})
	}
}
