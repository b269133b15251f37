package directory

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Backup: a backup while tasks are created and delivered, restored into
// another directory, and compared with the promises to clients.
func Backup(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironmentIn(ctx, "original")
	keep := newSeeder(st)
	keep.bulk(ctx, 20_000)
	const perSecond = 500
	stop := timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, perSecond, func(i int) { keep.create(context.WithoutCancel(ctx), i) })
	})
	defer stop()
	beside := st.StartBystanders(ctx, 50)
	defer beside.Stop()
	timing.Pause(ctx, 3*time.Second)

	file, e := t.Path("foliot.backup"), verify.BackupEvidence{Began: time.Now()}
	harness.Check(st.RunFoliot(ctx, nil, "backup", file, "--server", st.Server.URL()))
	e.Ended = time.Now()
	e.Taken = harness.OK(readManifest(file))
	timing.Pause(ctx, 3*time.Second)
	stop()
	harness.Check(beside.End(ctx))
	st.Carry(ctx, harness.Phases{Stop: 20 * time.Second})
	t.Note("the original, which goes on:")
	v := st.Judge()
	t.Must(v.Duplicates == 0, "duplicates %d", v.Duplicates)
	t.Lateness("of deliveries during the backup", v.Late)
	e.Asked = keep.end()
	restoreBackup(ctx, t, file, &e)
	mustBeBackup(t, e)
	mustRefuseDamage(ctx, t, file)
}

// restoreBackup restores a backup, starts a server on it and lists the tasks.
func restoreBackup(ctx context.Context, t *harness.Run, file string, e *verify.BackupEvidence) {
	st := t.PrepareEnvironment("restored")
	harness.Check(st.RunFoliot(ctx, &e.Given, "restore", file, "--data", st.Server.Dir))
	harness.Check(st.Server.Run(ctx))
	exported := st.Path("export.ndjson")
	harness.Check(st.RunFoliot(ctx, nil, "export", exported, "--server", st.Server.URL()))
	e.Restored = harness.OK(readExport(exported))
	harness.Check(st.Server.Stop(20 * time.Second))
}

// mustRefuseDamage restores the backup with one bit changed, and without its end.
func mustRefuseDamage(ctx context.Context, t *harness.Run, file string) {
	whole := harness.OK(os.ReadFile(file))
	flipped := slices.Clone(whole)
	at := len(flipped) / 2
	for flipped[at] == 0 { // a changed bit in the padding after a file is no damage
		at++
	}
	flipped[at] ^= 1
	for name, data := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)*9/10]} {
		st := t.PrepareEnvironment(name)
		damaged := st.Path("foliot.backup")
		harness.Check(os.WriteFile(damaged, data, 0o600))
		refused := st.RunFoliot(ctx, nil, "restore", damaged, "--data", st.Server.Dir)
		_, left := os.Stat(st.Server.Dir)
		t.Must(refused != nil && errors.Is(left, os.ErrNotExist), "%s: refused is %t, nothing left is %t", name, refused != nil, errors.Is(left, os.ErrNotExist))
	}
}

// mustBeBackup prints the verdict on a backup.
func mustBeBackup(t *harness.Run, e verify.BackupEvidence) {
	v := verify.CheckBackup(e)
	t.Note("the backup took %s:", verify.Millis(e.Ended.Sub(e.Began)))
	t.Must(e.Taken == e.Given && e.Taken.Tasks > 0 && e.Taken.Checksum != "", "the backup says %+v, restore says %+v", e.Taken, e.Given)
	t.Must(v.Before > 0 && len(v.Missing) == 0, "accepted before it began %d, missing %d%s", v.Before, len(v.Missing), verify.Examples(v.Missing))
	t.Must(len(v.Changed) == 0, "restored with another due time or URL %d%s", len(v.Changed), verify.Examples(v.Changed))
	t.Must(len(v.Later) == 0, "asked for after it had ended, and in it: %d%s", len(v.Later), verify.Examples(v.Later))
	t.Must(len(v.Unknown) == 0, "restored and never asked for %d%s", len(v.Unknown), verify.Examples(v.Unknown))
	t.Must(v.Since > 0, "accepted by the original since it ended %d", v.Since)
	t.Note("accepted while it ran %d; the backup has %d of them", v.During, v.DuringRestored)
}

// readManifest returns the manifest of a backup, its last entry.
func readManifest(path string) (r verify.BackupReport, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, fmt.Errorf("read a backup: %w", err)
	}
	defer f.Close()
	archive := tar.NewReader(f)
	for {
		entry, err := archive.Next()
		if err != nil {
			return r, fmt.Errorf("find the manifest in a backup: %w", err)
		}
		if entry.Name == "BACKUP.json" {
			err := json.NewDecoder(archive).Decode(&r)
			return r, err
		}
	}
}
