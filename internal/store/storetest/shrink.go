package storetest

import "testing"

// maxTries bounds the search for a shorter script.
const maxTries = 1500

// shrink removes every part of a script that the divergence does not need: runs
// of commands, halved from the whole script down to one, then items of batches.
// It starts again after each success. The divergence may become another one:
// one bug at a time.
func (s Subject) shrink(t *testing.T, sc script, d *divergence) (script, *divergence) {
	tries := 0
	try := func(shorter script) bool {
		tries++
		found := s.try(t, "shrink", shorter)
		if found == nil {
			return false
		}
		sc, d = shorter[:found.step+1], found
		return true
	}
	sc = sc[:d.step+1]
	for shorter := true; shorter && tries < maxTries; {
		shorter = false
		for size := len(sc) / 2; size >= 1; size /= 2 {
			for at := len(sc) - size; at >= 0 && tries < maxTries; at -= size {
				if at+size <= len(sc) && try(cut(sc, at, size)) {
					shorter = true
				}
			}
		}
		for at := len(sc) - 1; at >= 0; at-- {
			for item := 0; at < len(sc) && tries < maxTries; item++ {
				n, without := sc[at].command.items()
				if n < 2 || item >= n {
					break
				}
				if try(replaced(sc, at, without(item))) {
					shorter = true
					item--
				}
			}
		}
	}
	return sc, d
}

func cut(sc script, at, size int) script {
	return append(append(make(script, 0, len(sc)), sc[:at]...), sc[at+size:]...)
}

func replaced(sc script, at int, c command) script {
	out := append(script(nil), sc...)
	out[at].command = c
	return out
}
