//go:build !linux

package server

import "syscall"

// attributes returns attributes without such a signal: if this program is
// killed, its servers keep running.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}
