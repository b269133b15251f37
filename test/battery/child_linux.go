package main

import (
	"syscall"
)

// childAttr makes the kernel kill a process whose battery has died, however that
// came about.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
