package server

import "syscall"

// attributes returns attributes with which the kernel ends a server when this
// program ends, even after a kill.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
}
