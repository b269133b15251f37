package directory

import (
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Rotate: secrets and tokens are replaced repeatedly, while tasks are created
// with the token and delivered with signatures.
func Rotate(ctx context.Context, t *harness.Run) {
	// As soon as a token exists, tasks may call loopback only with a
	// permission.
	st := t.NewEnvironment(ctx, "--egress-allow", "127.0.0.0/8")
	operator := harness.OK(st.Client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces, Label: "operator"}))
	st.Client = st.Client.WithToken(operator.Token)
	r := &rotation{st: st, verifier: &verifier{}}
	st.Receiver.Accept = r.verifier.accept
	r.begin(ctx)
	const perSecond, rounds = 300, 3
	stop := timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, perSecond, func(i int) { r.create(context.WithoutCancel(ctx), i) })
	})
	defer stop()
	var last *heldToken // revoked
	for range rounds {
		r.replaceSecret(ctx)
		last = r.replaceToken(ctx)
	}
	stop()
	mustPassBeside(ctx, t, st.Client.WithToken(last.Token.Token), st.Client)
	r.conclude(ctx)
}

// rotation is the load and its results. conclude must be called after the end
// of the load.
type rotation struct {
	st       *harness.Environment
	verifier *verifier

	mu      sync.Mutex // guards everything below
	token   *heldToken // the token of new creates
	created []string
	refused verify.Offences // creates without a 2xx
}

// heldToken is a token, and counts the creates under way that use it.
type heldToken struct {
	wire.Token
	uses sync.WaitGroup
}

// begin makes the first secret and the first token.
func (r *rotation) begin(ctx context.Context) {
	secret := harness.OK(r.st.Client.MakeSecret(ctx, wire.SecretInput{}))
	harness.Check(r.verifier.replace(secret.Secret))
	r.nextToken(ctx)
}

// create makes a task that is due in a second, with the current token.
func (r *rotation) create(ctx context.Context, i int) {
	r.mu.Lock()
	token := r.token
	token.uses.Add(1) // under mu, so that no create begins with the old token after replaceToken waits
	r.mu.Unlock()
	defer token.uses.Done()
	due := timing.DueIn(time.Second)
	in := harness.Task(verify.Numbered{Prefix: "rotate"}.Name(i), r.st.Receiver.URL(), due)
	_, err := r.st.Client.WithToken(token.Token.Token).Create(ctx, in)
	if err == nil {
		err = r.st.Promised(in.Name, due)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.refused.Add("%v", err)
		return
	}
	r.created = append(r.created, in.Name)
}

// replaceSecret rotates the secret in one step: during the overlap both secrets
// sign. Halfway, the receiver replaces the old secret with the new one. It
// never knows both.
func (r *rotation) replaceSecret(ctx context.Context) {
	const overlap = 3 * time.Second
	next := harness.OK(r.st.Client.MakeSecret(ctx, wire.SecretInput{Overlap: overlap.String()}))
	answered := time.Now() // the old one may sign until the end of the overlap after this
	timing.Pause(ctx, overlap/2)
	harness.Check(r.verifier.replace(next.Secret))
	end := answered.Add(overlap + verify.WireDelay)
	r.verifier.retire(end)
	timing.Until(ctx, end.Add(time.Second))
	harness.Check(ctx.Err())
}

// replaceToken gives the load a new token. It revokes and returns the old token
// when no create uses it any more. A prober continues to use the old token.
func (r *rotation) replaceToken(ctx context.Context) (old *heldToken) {
	old = r.nextToken(ctx)
	old.uses.Wait()
	p := startProber(ctx, r.st.Client, old.Token.Token)
	defer p.stop()
	timing.Pause(ctx, 300*time.Millisecond)
	asked := time.Now()
	harness.Check(r.st.Client.RevokeToken(ctx, old.ID))
	answered := time.Now()
	timing.Pause(ctx, 2*time.Second)
	v := verify.CheckRevocation(p.end(), asked, answered)
	t := r.st.Run
	t.Must(v.Before > 0 && v.RefusedBefore == 0, "a token before its revocation: used %d times, refused %d", v.Before, v.RefusedBefore)
	t.Must(v.After > 0 && v.Accepted == 0, "later than 1 s after its revocation: used %d times, accepted %d", v.After, v.Accepted)
	t.Note("accepted for the last time %s after the revocation was answered", verify.Millis(v.Last))
	return old
}

// nextToken makes a token and gives it to the load. It returns the token
// before.
func (r *rotation) nextToken(ctx context.Context) (old *heldToken) {
	next := harness.OK(r.st.Client.MakeToken(ctx, wire.TokenInput{Scope: "write", Namespace: "default"}))
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.token = r.token, &heldToken{Token: next}
	return old
}

func (r *rotation) conclude(ctx context.Context) {
	r.st.Receiver.AwaitAll(ctx, r.created, 20*time.Second)
	v := r.st.Conclude(ctx, harness.Phases{Quiet: time.Second})
	t, c := r.st.Run, r.verifier.seen()
	t.Must(r.refused.Count == 0, "creates %d, refused %v", len(r.created), r.refused)
	t.Must(c.Accepted > 0 && c.Rejected.Count == 0, "deliveries with a right signature %d, rejected %v", c.Accepted, c.Rejected)
	t.Must(c.Stale.Count == 0, "signed by a secret after its end %v", c.Stale)
	t.Must(c.Double > 0 && c.Double < c.Accepted, "signed by two secrets, during the overlaps: %d", c.Double)
	t.Lateness("of all", v.Late)
}
