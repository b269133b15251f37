package namespaces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/test/battery/verify"
)

// bounds are the costs of an attack for its victim.
type bounds struct {
	shift    time.Duration // of the victim's p99
	lateness time.Duration // of the victim
}

var (
	ofWork    = bounds{50 * time.Millisecond, 500 * time.Millisecond}
	ofSurface = bounds{250 * time.Millisecond, 2 * time.Second}
)

func (a *attack) bounds() bounds {
	if a.surface {
		return ofSurface
	}
	return ofWork
}

// Bounds of the cost of an attack for the server.
const (
	maxResident  = 1 << 30 // bytes of memory
	maxGrowth    = 1 << 20 // bytes a second, of a bounded attack
	serverMemory = 2 << 30 // bytes, of its cgroup
)

// measurement is a measurement over a while: how late the tasks of the victim
// arrived, and how late a process that only sleeps was woken. Both are
// ascending.
type measurement struct {
	from, until     time.Time // until zero: without an end
	victim, sleeper []time.Duration
}

// attackRow is the measurement of one attack.
type attackRow struct {
	attack        attack
	alone, beside measurement
	verdict       verify.Verdict // of all the victim's tasks
	created       int            // creates of the victim that were answered 2xx
	refused       verify.Offences
	died          bool // the server did
	resident      int64
	growth        float64 // bytes a second that the store grew by
	attacker      attackCounts
	delivered     int // tasks of the rival
}

// judge fills in the findings.
func (r *attackRow) judge(e verify.Evidence) {
	r.verdict = verify.Check(e)
	for _, s := range []*measurement{&r.alone, &r.beside} {
		s.victim = verify.Check(e.DueWithin(s.from, s.until)).Late
	}
}

// shift is the increase of the victim's p99 during the attack.
func (r *attackRow) shift() time.Duration {
	return verify.Percentile(r.beside.victim, 99) - verify.Percentile(r.alone.victim, 99)
}

// deciding returns the turn of an attack that counts. nil means that another
// turn is needed. A measurement has about 200 tasks, so one pause of the
// machine can decide its p99. If only the shift is above its bound, the median
// of three turns counts.
func deciding(turns []*attackRow) *attackRow {
	last := turns[len(turns)-1]
	failed := len(last.failed())
	shifted := last.shift() > last.attack.bounds().shift
	if failed > 1 || failed == 1 && !shifted || len(turns) == 1 && !shifted {
		return last
	}
	if len(turns) < 3 {
		return nil
	}
	ascending := slices.SortedFunc(slices.Values(turns), func(a, b *attackRow) int { return cmp.Compare(a.shift(), b.shift()) })
	return ascending[len(ascending)/2]
}

// finding is one criterion of a row, and whether it is met.
type finding struct {
	ok   bool
	text string
}

// findings compares a row with the promises. It is a pure function.
func (r *attackRow) findings() (list []finding) {
	add := func(ok bool, format string, args ...any) {
		list = append(list, finding{ok, fmt.Sprintf(format, args...)})
	}
	shift := r.shift()
	worst := verify.Percentile(r.beside.victim, 100)
	add(r.attacker.Requests > 0 || r.delivered > 0, "the attack took place: %d requests, %d deliveries", r.attacker.Requests, r.delivered)
	add(!r.died, "the server survived: %v", !r.died)
	add(len(r.alone.victim) > 0 && len(r.beside.victim) > 0, "tasks of the victim: %d alone, %d during the attack", len(r.alone.victim), len(r.beside.victim))
	most := r.attack.bounds()
	add(shift <= most.shift, "p99 shifts by %s, at most %s", verify.Millis(shift), verify.Millis(most.shift))
	add(worst <= most.lateness, "at most %s late, at most %s", verify.Millis(worst), verify.Millis(most.lateness))
	add(r.resident > 0 && r.resident <= maxResident, "memory's peak %d MB, at most %d", r.resident>>20, maxResident>>20)
	if r.attack.bounded {
		add(r.growth <= maxGrowth, "the store grows by %.2f MB/s, at most %.2f", r.growth/(1<<20), maxGrowth/float64(1<<20))
	}
	if !r.attack.tinyDisk { // there a create may be refused
		add(r.refused.Count == 0, "creates answered 2xx: %d, others %d%.200s", r.created, r.refused.Count, verify.Examples(r.refused.First[:min(1, len(r.refused.First))]))
	}
	add(len(r.verdict.Lost) == 0, "lost %d%s", len(r.verdict.Lost), verify.Examples(r.verdict.Lost))
	add(len(r.verdict.Early) == 0, "early %d%s", len(r.verdict.Early), verify.Examples(r.verdict.Early))
	add(len(r.verdict.Unexplained) == 0, "duplicates without a fault %d%s", len(r.verdict.Unexplained), verify.Examples(r.verdict.Unexplained))
	return list
}

// failed returns which criteria are not met.
func (r *attackRow) failed() (list []string) {
	for _, f := range r.findings() {
		if !f.ok {
			list = append(list, f.text)
		}
	}
	return list
}

const rowFormat = "%-11s %-4s  %-26s %-26s %-14s %-14s %8s %8s %6s %s"

// tableHead is the line above the rows.
func tableHead() string {
	return fmt.Sprintf(rowFormat, "attack", "", "alone p50/p99/max ms", "attacked p50/p99/max ms", "sleeper p99/max", "attacked", "RSS MB", "MB/s", "2xx", "others")
}

// line shows the row in a table.
func (r *attackRow) line() string {
	word := "PASS"
	if len(r.failed()) > 0 {
		word = "FAIL"
	}
	last := fmt.Sprint(r.refused.Count)
	if r.died {
		last += ", the server died"
	}
	return strings.TrimRight(fmt.Sprintf(rowFormat, r.attack.Name, word,
		percentiles(r.alone.victim, 50, 99, 100), percentiles(r.beside.victim, 50, 99, 100),
		percentiles(r.alone.sleeper, 99, 100), percentiles(r.beside.sleeper, 99, 100),
		fmt.Sprint(r.resident>>20), fmt.Sprintf("%.2f", r.growth/(1<<20)), fmt.Sprint(r.created), last), " ")
}

// percentiles shows some of an ascending list, in milliseconds.
func percentiles(sorted []time.Duration, of ...float64) string {
	words := make([]string, len(of))
	for i, p := range of {
		words[i] = fmt.Sprintf("%.1f", float64(verify.Percentile(sorted, p).Microseconds())/1000)
	}
	return strings.Join(words, " / ")
}
