package fileaccess

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/usage"
)

// Users that may write to a trusted file, such as a configuration or the
// certificate of an authority, can control the server. Users that may read a file
// know its secrets. Such files are refused, as ssh and PostgreSQL do.

// Secrecy is the access that other users may have to a file.
type Secrecy int

const (
	Unaltered  Secrecy = iota // other users may read it
	SecretFile                // none, but the group may read a file of root, as is common for keys
	SecretDir                 // none
)

// access is the owner and the mode of a file.
type access struct {
	mode  fs.FileMode
	owner int // user id
}

// problem returns the access of users other than self that keep forbids, and the
// command that removes the access. It returns "" if there is none. Root may use
// files of any owner, as in ssh, but no pipes of other users.
func (a access) problem(path string, self int, keep Secrecy) (problem, remedy string) {
	allowed, mode := fs.FileMode(0o755), "go-w"
	switch {
	case keep == SecretDir:
		allowed, mode = 0o700, "700"
	case keep == SecretFile && a.owner == 0:
		allowed, mode = 0o740, "640"
	case keep == SecretFile:
		allowed, mode = 0o700, "600"
	}
	excess := a.mode.Perm() &^ allowed & 0o077
	remedy = "chmod " + mode + " " + usage.ShellWord(path)
	switch {
	case a.owner != self && a.owner != 0 && (self != 0 || a.mode&fs.ModeNamedPipe != 0):
		recursive := ""
		if keep == SecretDir {
			recursive = "-R "
		}
		return "another user owns it, and can change it", "chown " + recursive + userName(self) + " " + usage.ShellWord(path) + " && " + remedy
	case excess == 0:
		return "", ""
	case excess&0o022 != 0:
		return "other users may write to it", remedy
	}
	return "other users may read it", remedy
}

// Check returns an error if other users have more access to the file than s
// allows, or if it is a device or a socket.
func (s Secrecy) Check(path string, info fs.FileInfo) error {
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() && mode&fs.ModeNamedPipe == 0 {
		return fmt.Errorf("%s is neither a file nor a pipe", path)
	}
	a, known := accessOf(info)
	if !known || a.mode&fs.ModeNamedPipe != 0 && isInherited(path) {
		return nil
	}
	problem, remedy := a.problem(path, os.Geteuid(), s)
	if problem == "" {
		return nil
	}
	return fmt.Errorf("%s has mode %04o and belongs to %s: %s. Run `%s`", path, a.mode.Perm(), userName(a.owner), problem, remedy)
}

// isInherited reports whether the pipe at path comes from the process that started
// this one, as with sudo. No other user can have put it there.
func isInherited(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

const (
	maxSecret = 64 << 10
	maxFile   = 4 << 20          // the file of all public authorities has 250 kB
	pipeWait  = 10 * time.Second // less than supervisors wait after SIGTERM
)

// Read returns the text of a file or of a pipe, such as <(command). It returns
// an error if other users have more access than keep allows. It checks the file
// that it reads, after following links.
func Read(path string, keep Secrecy) ([]byte, error) {
	most := maxFile
	if keep == SecretFile {
		most = maxSecret
	}
	data, _, err := ReadUpTo(path, keep, most)
	if err != nil {
		return nil, err
	}
	if data, err = usage.Text(data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// ReadUpTo is Read with another maximum of bytes. It also returns the access. It
// does not wait for a program that opens a pipe, and at most ten seconds for one
// that writes.
func ReadUpTo(path string, keep Secrecy, most int) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = keep.Check(path, info)
	}
	if err != nil {
		return nil, nil, err
	}
	_ = f.SetReadDeadline(time.Now().Add(pipeWait)) // an error means that a read does not wait
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(data) > most:
		return nil, nil, fmt.Errorf("%s is longer than %d bytes: is this the right file?", path, most)
	case len(data) == 0 && info.Mode()&fs.ModeNamedPipe != 0:
		return nil, nil, fmt.Errorf("%s is a pipe to which no program has written: start the program first, or use a file", path)
	}
	return data, info, nil
}

// Authorities returns the authorities of the system and those in a PEM file.
func Authorities(path string) (*x509.CertPool, error) {
	pem, err := Read(path, Unaltered)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no PEM certificate", path)
	}
	return pool, nil
}

// CheckPlace returns a usage.Error that names the flag, unless this process can
// write to the directory dir or create it. It also returns one if root would
// leave files in a store of another user.
func CheckPlace(flag, dir string) error {
	problem := placeProblem(dir, mayWrite)
	if problem == "" {
		problem = rootProblem(dir, ownerOf(dir), os.Geteuid())
	}
	if problem != "" {
		return usage.Errorf(flag, "%s", problem)
	}
	return nil
}

// ownerOf returns the user id of the owner of a file, or 0 if it is unknown or
// the file does not exist.
func ownerOf(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	a, _ := accessOf(info)
	return a.owner
}

// rootProblem returns why root must not write to the directory dir, or "" if
// the user self may. Files of root in the store of a service's user stop the
// service, because that user may not open them. A directory of another program
// is accepted here: the store refuses it.
func rootProblem(dir string, owner, self int) string {
	if self != 0 || owner == 0 || !isFresh(dir) && !marker.Marked(dir) {
		return ""
	}
	return fmt.Sprintf("%s belongs to %s, but this process runs as root, and %s could not open its files. Run the command as that user, with `sudo -u %s`, or give the directory to root with `chown -R root %s`",
		dir, userName(owner), userName(owner), userName(owner), usage.ShellWord(dir))
}

// placeProblem returns why this process cannot write to the directory dir or
// create it, or "" if it can. It checks dir itself or the nearest existing
// directory above.
func placeProblem(dir string, mayWrite func(dir string) error) string {
	missing := false
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			missing = missing || path == dir && errors.Is(err, fs.ErrNotExist)
			if path == filepath.Dir(path) {
				return err.Error()
			}
			continue // path does not exist, or may not be read
		}
		cannot := ""
		if path != dir {
			cannot = dir + " cannot be created or read: "
		}
		if !info.IsDir() {
			return cannot + path + " is a file: name a directory"
		}
		err = mayWrite(path)
		switch {
		case err == nil:
			return ""
		case errors.Is(err, syscall.EROFS):
			return cannot + path + " is on a read-only file system: name a directory on another one, or mount this one for writing"
		case !errors.Is(err, fs.ErrPermission):
			return cannot + path + " cannot be written to: " + err.Error()
		}
		owner, self := "another user", userName(os.Geteuid())
		if a, known := accessOf(info); known {
			owner = userName(a.owner)
		}
		return fmt.Sprintf("%s%s belongs to %s, and this process, which runs as %s, may not write to it. %s", cannot, path, owner, self, placeRemedy(dir, self, owner, missing))
	}
}

// placeRemedy returns the remedy if self may not write to dir, or may not create
// it. Only a missing or empty directory, or a store, may get another owner: files
// of other programs must keep theirs.
func placeRemedy(dir, self, owner string, missing bool) string {
	switch {
	case missing:
		return "Run `install -d -m 700 -o " + self + " " + usage.ShellWord(dir) + "` as root, or name another directory"
	case isFresh(dir), marker.Marked(dir):
		return "Run `chown -R " + self + " " + usage.ShellWord(dir) + "` as root, or name another directory"
	}
	return "Name another directory. If it is a store, run the command as " + owner + ", or give the store to " + self
}

// Placed returns err as a usage.Error that names the flag in two cases: the
// directory contains files of another program, or files that this process may
// not open. It returns other errors unchanged.
func Placed(flag string, err error) error {
	switch {
	case errors.Is(err, marker.ErrForeign):
		return usage.Errorf(flag, "%v", err)
	case errors.Is(err, fs.ErrPermission):
		return usage.Errorf(flag, "%v: this process runs as %s, so run the command as the user that owns the store", err, userName(os.Geteuid()))
	}
	return err
}

// CheckDataDir returns a usage.Error that names the flag if the data directory
// cannot be used, or if other users may read or write it. A missing directory is
// accepted, because the store creates it only for this user.
//
// Files in the directory need no check, because other users cannot reach them.
// CheckDataDir accepts an empty directory that CloseDataDir can close. It also
// accepts a directory of another program, which the store refuses.
func CheckDataDir(flag, dir string) error {
	return checkDataDir(flag, dir, func(dir string) bool { self := os.Geteuid(); return self == 0 || self == ownerOf(dir) })
}

// CloseDataDir does the same checks. It closes an empty directory of this user,
// such as the root of a new volume, to other users, as initdb does. The mode of
// a directory of another program does not change.
func CloseDataDir(flag, dir string) error {
	return checkDataDir(flag, dir, func(dir string) bool { return os.Chmod(dir, 0o700) == nil })
}

func checkDataDir(flag, dir string, closed func(dir string) bool) error {
	if err := CheckPlace(flag, dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return usage.Errorf(flag, "%v", err)
	}
	err = SecretDir.Check(dir, info)
	switch fresh := isFresh(dir); {
	case err == nil, !fresh && !marker.Marked(dir):
		return nil
	case fresh && closed(dir):
		return nil
	}
	return usage.Errorf(flag, "%v, or name a new directory below it", err)
}

// isFresh reports whether a directory is empty, or only has the lost+found of a
// new file system.
func isFresh(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(2)
	return errors.Is(err, io.EOF) || len(names) == 1 && names[0] == "lost+found"
}

// userName returns the name of a user, or the number if the name is unknown.
func userName(id int) string {
	number := strconv.Itoa(id)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}
