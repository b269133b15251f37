package contexts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// None is the name that stands for no context.
const None = "default"

// Context is a server and the settings to call it. It has the paths of a token
// file and of a key, and no secret, so a copy of the contexts gives no access.
type Context struct {
	Server    string `yaml:"server" json:"server"`
	Namespace string `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	TokenFile string `yaml:"token_file,omitempty" json:"token_file,omitempty"`
	CACert    string `yaml:"ca_cert,omitempty" json:"ca_cert,omitempty"`

	ClientCert string `yaml:"client_cert,omitempty" json:"client_cert,omitempty"`
	ClientKey  string `yaml:"client_key,omitempty" json:"client_key,omitempty"`
}

// File is the content of the file of contexts.
type File struct {
	Current  string             `yaml:"current,omitempty"` // empty: none
	Contexts map[string]Context `yaml:"contexts"`
}

func filePath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the directory of the contexts: %w", err)
	}
	return filepath.Join(dir, "foliot", "contexts.yaml"), nil
}

// Read returns the content of the file. It is empty if there is no file, or if
// this user has no directory for one.
func Read() (*File, error) {
	f := &File{Contexts: map[string]Context{}}
	path, err := filePath()
	if err != nil {
		return f, nil
	}
	// A user that can write the file chooses the servers that get the tokens.
	data, err := fileaccess.Read(path, fileaccess.Unaltered)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, usage.Errorf("contexts", "%v", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, usage.Errorf("contexts", "%s: %v: correct the file, or remove it", path, err)
	}
	if f.Contexts == nil {
		f.Contexts = map[string]Context{}
	}
	return f, nil
}

// Names returns the names of the contexts in their order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// Update reads the file, calls change, and replaces the file by one that only this
// user can read. If change returns an error, the file stays as it was. Of two changes
// at once, one may be lost.
func Update(change func(*File) error) error {
	path, err := filePath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 { // the link stays
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return fmt.Errorf("write the contexts: cannot follow the symbolic link: %w", err)
		}
	}
	f, err := Read()
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	data, err := yaml.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode the contexts: %w", err)
	}
	err = fileaccess.Replace(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}
