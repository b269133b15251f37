package redischeck

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/bytesize"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/wire"
)

// ClockBound is the largest acceptable difference of two clocks. Beyond it
// people misread times that they compare. Delays are not affected: only the
// server counts them.
const ClockBound = 100 * time.Millisecond

// report collects the findings of one examination.
type report struct {
	clock string // the clock with which the masters' clocks are compared
	list  []wire.Finding
}

func (r *report) add(check string, ok bool, format string, args ...any) {
	r.list = append(r.list, wire.Finding{Check: check, OK: ok, Says: fmt.Sprintf(format, args...)})
}

// Judge checks an examination against the settings of a server. clock is the
// name of the clock with which the masters' clocks were compared.
func Judge(x *redisstore.Examination, c redisstore.Config, clock string) []wire.Finding {
	r := report{clock: clock}
	for i := range x.Masters {
		r.master(&x.Masters[i], c.Durability)
	}
	r.clocks(x.Masters)
	if x.Layout.Store != nil {
		r.layout(x.Layout, c.Shards)
	}
	r.identity(x.Layout.Store, x.Closed)
	return r.list
}

// master reports the state of one master.
func (r *report) master(m *redisstore.Examined, level redisstore.Durability) {
	if m.Failed != nil {
		r.add("server", false, "%s: %v", m.Addr, m.Failed)
		return
	}
	r.add("server", true, "%s: version %s, %s", m.Addr, m.Version, m.Mode)
	if m.Refused != nil {
		r.add("writes", false, "%v", m.Refused)
	}
	for _, err := range m.Unfit {
		r.add("fit", false, "%v", err)
	}
	if len(m.Unfit) == 0 {
		r.add("fit", true, "%s: maxmemory-policy %s, %s", m.Addr, m.Policy, persistence(m))
	}
	switch {
	case m.Limit == 0:
		r.add("memory", true, "%s: %s used, no limit", m.Addr, bytesize.Text(m.Used))
	case m.Crowded():
		r.add("memory", false, "%s: %s of %s used: above 85 %% the store accepts no new tasks; give this Redis more memory, or add masters", m.Addr, bytesize.Text(m.Used), bytesize.Text(m.Limit))
	default:
		r.add("memory", true, "%s: %s of %s used", m.Addr, bytesize.Text(m.Used), bytesize.Text(m.Limit))
	}
	for _, risk := range m.Risks {
		r.add("risk", false, "%s: %s", m.Addr, risk)
	}
	r.replicas(m, level)
}

func persistence(m *redisstore.Examined) string {
	switch {
	case !m.File:
		return "no append-only file: a restart loses tasks"
	case m.Sync == "":
		return "an append-only file; this user may not read when it is synced (missing ACL rule: +config|get)"
	}
	return "an append-only file with appendfsync " + m.Sync
}

// cutOffBound is how long a master that is cut off may accept writes without a
// remark.
const cutOffBound = 3 * time.Second

// replicas reports the state of a master's replicas.
func (r *report) replicas(m *redisstore.Examined, level redisstore.Durability) {
	for _, follower := range m.Replicas {
		r.add("replica", follower.Fit, "%s of %s: %s, %d bytes behind, last contact %v ago", cmp.Or(follower.Addr, "one"), m.Addr, follower.State, follower.Behind, follower.Silent)
	}
	switch {
	case len(m.Replicas) == 0:
		r.add("replicas", true, "%s has no replica: if it is lost, all tasks that are not in its file are lost", m.Addr)
	case level == redisstore.Strict && m.MinReplicas == 0:
		r.add("replicas", false, "%s accepts writes without a replica, and so does a replaced master until it notices: set min-replicas-to-write 1 in redis.conf, or with CONFIG SET and CONFIG REWRITE", m.Addr)
	case m.MinReplicas > 0 && m.MaxLag > cutOffBound:
		r.add("replicas", true, "%s: a master that is cut off from its replicas refuses writes after %v; set min-replicas-max-lag 2 to make this 2s", m.Addr, m.MaxLag)
	}
}

// clocks compares the masters' clocks with each other and with ours.
func (r *report) clocks(masters []redisstore.Examined) {
	var first, last *redisstore.Examined
	for i := range masters {
		m := &masters[i]
		if m.Failed != nil {
			continue
		}
		if first == nil || m.Ahead < first.Ahead {
			first = m
		}
		if last == nil || m.Ahead > last.Ahead {
			last = m
		}
		near := m.Ahead.Abs() <= ClockBound+m.Unsure
		r.add("clock", near, "%s is %s%s", m.Addr, apart(m.Ahead, m.Unsure, r.clock), adviceUnless(near,
			": tasks with an absolute time start early or late by this much; synchronise both clocks (chrony, systemd-timesyncd)"))
	}
	if first == nil || first == last {
		return
	}
	between := last.Ahead - first.Ahead
	near := between <= ClockBound+first.Unsure+last.Unsure
	r.add("clocks", near, "the clocks of %s and %s are %v apart%s", first.Addr, last.Addr, between.Round(100*time.Microsecond), adviceUnless(near,
		": tasks are late by this much, and when one server replaces the other, leases end early and attempts are repeated; synchronise the clocks"))
}

// apart describes the difference between a clock and ours.
func apart(ahead, unsure time.Duration, ours string) string {
	if ahead.Abs()+unsure < time.Millisecond {
		return "within a millisecond of " + ours
	}
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	return fmt.Sprintf("%v %s %s (± %v)", ahead.Abs().Round(100*time.Microsecond), word, ours, unsure.Round(100*time.Microsecond))
}

func adviceUnless(ok bool, advice string) string {
	if ok {
		return ""
	}
	return advice
}

// layout reports how tasks are stored. shards is the value of --shards, 0 if it
// is not set.
func (r *report) layout(l redisstore.Layout, shards int) {
	switch {
	case l.Unreadable != nil:
		r.add("format", false, "%v", l.Unreadable)
	case l.Format == "":
		r.add("format", true, "no server has stored tasks there yet")
	case shards != 0 && shards != l.Shards:
		r.add("format", false, "tasks are divided into %d shards, but --shards is %d: omit the flag", l.Shards, shards)
	default:
		r.add("format", true, "tasks are kept in format %s, in %d shards; a server without a heartbeat for %v loses its shards to the others", l.Format, l.Shards, l.Lease)
	}
}

// identity reports which store the Redis holds, and which parts are lost. found
// is nil if the identity cannot be read. closed is the reason why the examining
// server refuses requests: only that server knows its store, because an empty
// or foreign Redis cannot show it.
func (r *report) identity(found *redisstore.Found, closed string) {
	switch {
	case found != nil && !found.Whole():
		r.add("identity", false, "%s; servers refuse all requests until the data is back: restore it, or accept the loss with foliot redis accept-loss", Losses(found))
	case closed != "":
		r.add("identity", false, "the server refuses all requests: %s. If you restore the data, the server continues by itself. If you cannot, stop every server and start them again: they accept the Redis as it is", closed)
	case found != nil && found.Identity != "":
		r.add("identity", true, "the store is %s, in all of its %d parts", found.Identity, found.Parts)
	}
}

// Losses lists the lost parts of a store.
func Losses(f *redisstore.Found) string {
	const shown = 3
	all := f.Lost
	if f.SettingsLost {
		all = append([]string{"the settings are gone, including access tokens and signing secrets"}, all...)
	}
	more := ""
	if n := len(all) - shown; n > 0 {
		more = fmt.Sprintf("; and %d more parts", n)
	}
	return strings.Join(all[:min(len(all), shown)], "; ") + more
}
