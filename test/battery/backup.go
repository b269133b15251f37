package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// backedUp: a backup while tasks are created and delivered, restored into
// another directory, and compared with what clients were promised.
func backedUp(ctx context.Context, t *trial) error {
	st, err := t.stageIn(ctx, "original")
	if err != nil {
		return err
	}
	defer st.close()
	keep, err := st.keep()
	if err != nil {
		return err
	}
	if err := keep.bulk(ctx, 20_000); err != nil {
		return err
	}
	const perSecond = 500
	stop := timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, perSecond, func(i int) { keep.create(context.WithoutCancel(ctx), i) })
	})
	defer stop()
	beside := st.bystand(ctx, 50)
	defer beside.stop()
	timing.Pause(ctx, 3*time.Second)

	file, e := t.path("foliot.backup"), verify.BackupEvidence{Began: time.Now()}
	if err := st.foliot(ctx, nil, "backup", file, "--server", st.server.url()); err != nil {
		return err
	}
	e.Ended = time.Now()
	if e.Taken, err = readManifest(file); err != nil {
		return err
	}
	timing.Pause(ctx, 3*time.Second)
	stop()
	if err := beside.end(ctx); err != nil {
		return err
	}
	if err := st.server.stop(20 * time.Second); err != nil {
		return err
	}
	t.note("the original, which goes on:")
	v, err := st.judge()
	if err != nil {
		return err
	}
	t.must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	t.lateness("of its deliveries meanwhile", v.Late)
	if e.Asked, err = keep.end(); err != nil {
		return err
	}
	if err := t.restore(ctx, file, &e); err != nil {
		return err
	}
	t.mustBeBackup(e)
	return t.mustRefuseDamage(ctx, file)
}

// restore restores a backup, starts a server on it and lists what it has.
func (t *trial) restore(ctx context.Context, file string, e *verify.BackupEvidence) error {
	st, err := t.propsIn("restored")
	if err != nil {
		return err
	}
	defer st.close()
	if err := st.foliot(ctx, &e.Given, "restore", file, "--data", st.server.dir); err != nil {
		return err
	}
	if err := st.server.run(ctx); err != nil {
		return err
	}
	exported := st.path("export.ndjson")
	if err := st.foliot(ctx, nil, "export", exported, "--server", st.server.url()); err != nil {
		return err
	}
	if e.Restored, err = readExport(exported); err != nil {
		return err
	}
	return st.server.stop(20 * time.Second)
}

// mustRefuseDamage restores the backup with one bit changed, and without its end.
func (t *trial) mustRefuseDamage(ctx context.Context, file string) error {
	whole, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	flipped := slices.Clone(whole)
	at := len(flipped) / 2
	for flipped[at] == 0 { // the padding behind a file says nothing
		at++
	}
	flipped[at] ^= 1
	for name, data := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)*9/10]} {
		st, err := t.propsIn(name)
		if err != nil {
			return err
		}
		defer st.close()
		damaged := st.path("foliot.backup")
		if err := os.WriteFile(damaged, data, 0o600); err != nil {
			return err
		}
		refused := st.foliot(ctx, nil, "restore", damaged, "--data", st.server.dir)
		_, left := os.Stat(st.server.dir)
		t.must(refused != nil && errors.Is(left, os.ErrNotExist), "%s: refused is %t, nothing left is %t", name, refused != nil, errors.Is(left, os.ErrNotExist))
	}
	return nil
}

// mustBeBackup prints the verdict on a backup.
func (t *trial) mustBeBackup(e verify.BackupEvidence) {
	v := verify.CheckBackup(e)
	t.note("the backup took %s:", verify.Millis(e.Ended.Sub(e.Began)))
	t.must(e.Taken == e.Given && e.Taken.Tasks > 0 && e.Taken.Checksum != "", "the backup says %+v, restore says %+v", e.Taken, e.Given)
	t.must(v.Before > 0 && len(v.Missing) == 0, "accepted before it began %d, missing %d%s", v.Before, len(v.Missing), verify.Examples(v.Missing))
	t.must(len(v.Changed) == 0, "restored with another due time or URL %d%s", len(v.Changed), verify.Examples(v.Changed))
	t.must(len(v.Later) == 0, "asked for after it had ended, and in it: %d%s", len(v.Later), verify.Examples(v.Later))
	t.must(len(v.Unknown) == 0, "restored and never asked for %d%s", len(v.Unknown), verify.Examples(v.Unknown))
	t.must(v.Since > 0, "accepted by the original since it ended %d", v.Since)
	t.note("accepted while it ran %d, of which it has %d", v.During, v.DuringRestored)
}
