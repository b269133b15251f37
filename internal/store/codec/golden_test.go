package codec

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// sample is a record with a value in each of its fields.
func sample() *task.Task {
	const at task.Millis = 1_800_000_000_000
	return &task.Task{
		Namespace: "ns", Name: "name", ID: "id", Version: 7,
		Queue: "mail", Priority: task.Low, Labels: map[string]string{"team": "blue"},
		Request: task.Request{
			Destination: "host:443", URL: "https://host/hook", Method: "PUT", Headers: map[string]string{"X-A": "b"},
			BodyKind: task.JSONBody, BodySize: 300,
		},
		Timeout: 10 * time.Second, ExpireAfter: time.Hour,
		Retry:    task.Retry{MaxAttempts: 5, MinBackoff: time.Second, MaxBackoff: time.Minute, MaxAge: 24 * time.Hour},
		Relative: true, Delay: time.Minute,
		CreatedAt: at, OriginalDue: at + 1, Due: at + 2,
		State: task.Running, RunNow: true, Attempts: 3, AttemptsUsed: 2, Reclaims: 1, FirstAttemptAt: at + 3,
		History: []task.Attempt{{
			Number: 1, StartedAt: at + 3, Status: 503, Error: "error", Latency: 20 * time.Millisecond, Late: time.Millisecond, Reply: "reply",
		}},
		Reason: "reason", Lease: &task.Lease{Token: "token", Since: at + 4, Until: at + 5, TaskID: "id", Timeout: 11 * time.Second},
		CancelRequested: true, MaybeSendingUntil: at + 6, FinishedAt: -1, KeepUntil: at + 7,
		Idempotency: &task.Idempotency{Key: "key", Fingerprint: "print"}, OnDead: "https://host/dead", Trace: "trace",
	}
}

// audited returns entries with and without repeated fields.
func audited() []settings.AuditEntry {
	return []settings.AuditEntry{
		{At: 1_800_000_000_000, By: "token", Addr: "192.0.2.1", Namespace: "ns", Action: "task.create", Target: "a", ID: "a", Version: 1},
		{At: 1_800_000_000_000, By: "token", Addr: "192.0.2.1", Namespace: "ns", Action: "task.create", Target: "b", ID: "id", Version: 1},
		{At: 1_800_000_000_001, By: "", Addr: "192.0.2.1", Namespace: "", Action: "queue.configure", Target: "q", Version: 2, Detail: "rate"},
	}
}

// The bytes of format 1 in existing stores. Other bytes need a new format.
const (
	sampleBytes = "0108021084c0e285e3681a046d61696c220c0a047465616d1204626c756528023202696438074208686f73743a3434334a1168747470733a2f2f686f73742f68" +
		"6f6f6b5203505554580260ac026880c0e285e3687082c0e285e368788090dfc04a800180a8d6b907880180e0ba84bf0390018080f89492a52798010aa0018080" +
		"c58bc6d101a80101b00180e0ba84bf03ba01080a03582d41120162c00101c80106d00104d80102e00186c0e285e368ea012308021086c0e285e36818ee072205" +
		"6572726f722880b489133080897a3a057265706c79f20106726561736f6efa011f0a05746f6b656e1088c0e285e368188ac0e285e368220269642880b8b5fa51" +
		"80020188028cc0e285e36890020198028ec0e285e368a2020c0a036b657912057072696e74aa021168747470733a2f2f686f73742f64656164b2020574726163" +
		"65"
	auditedBytes = "01310880c0e285e3681205746f6b656e1a093139322e302e322e3122026e732a0b7461736b2e637265617465320161500140010b3201623a0269644001581f25" +
		"0882c0e285e3682a0f71756575652e636f6e66696775726532017140024a04726174655804"
)

func TestTheBytesOfARecordAreStable(t *testing.T) {
	want := sample()
	if got := hex.EncodeToString(AppendRecord(nil, want)); got != sampleBytes {
		t.Errorf("got %s", got)
	}
	got, err := DecodeRecord(want.Key(), unhex(t, sampleBytes))
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

// call is a task for a handler, whose lease has a holder.
func call() *task.Task {
	const at task.Millis = 1_800_000_000_000
	return &task.Task{
		Namespace: "ns", Name: "name", ID: sampleID, Version: 1, Queue: "default", Priority: task.Normal,
		Request: task.Request{Kind: "order.close", Destination: "kind/order.close", BodyKind: task.JSONBody, BodySize: 12},
		Timeout: 15 * time.Second, Retry: task.Retry{MinBackoff: time.Second, MaxBackoff: time.Hour, MaxAge: 24 * time.Hour},
		CreatedAt: at, OriginalDue: at + 5, Due: at + 5, State: task.Running, Attempts: 1,
		Lease: &task.Lease{Token: "token", Since: at + 6, Until: at + 7, TaskID: sampleID, Timeout: 15 * time.Second, Holder: "node-a"},
	}
}

// The bytes of records with kinds in existing stores. Other bytes need a new format.
const (
	callBytes = "040802108ac0e285e3681a0764656661756c742801322430316132303963372d653062392d373465662d626365632d3265313532626363323532343801580260" +
		"0c6880c0e285e368708ac0e285e3687880d88ee16f800180a8d6b90788018080c58bc6d10190018080f89492a527c80102fa01490a05746f6b656e108cc0e285" +
		"e368188ec0e285e368222430316132303963372d653062392d373465662d626365632d3265313532626363323532342880d88ee16f32066e6f64652d6182030b" +
		"6f726465722e636c6f7365"
	compactCallBytes = "05f2850101a209c7e0b974efbcec2e152bcc25240a003208026880c0e285e368c80102fa011d0a05746f6b656e108cc0e285e368188ec0e285e36832066e6f64" +
		"652d6182030b6f726465722e636c6f7365"
)

func TestTheBytesOfARecordWithAKindAreStable(t *testing.T) {
	for form, want := range map[Form]string{Usual: callBytes, Compact: compactCallBytes} {
		if got := hex.EncodeToString(form.AppendRecord(nil, call())); got != want {
			t.Errorf("form %d: got %s", form, got)
		}
		got, err := DecodeCompactRecord(call().Key(), string(unhex(t, want)))
		if d := cmp.Diff(call(), got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
}

// Versions without kinds read formats 1 and 2, or 3 too. They would send a request
// without a URL.
func TestVersionsWithoutKindsRefuseARecordWithOne(t *testing.T) {
	for _, form := range []Form{Usual, Compact} {
		for _, scheduled := range []bool{false, true} {
			r := call()
			if scheduled {
				r.Recur = nightly().Recur
			}
			if first := form.AppendRecord(nil, r)[0]; first <= compactFormat {
				t.Errorf("form %d, schedule %v: the first byte is %d", form, scheduled, first)
			}
		}
	}
}

func TestTheBytesOfABlockAreStable(t *testing.T) {
	if got := hex.EncodeToString(blockOf(audited())); got != auditedBytes {
		t.Errorf("got %s", got)
	}
	got, err := DecodeAuditEntries(unhex(t, auditedBytes))
	if d := cmp.Diff(audited(), got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
