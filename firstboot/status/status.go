// Package status is what a node says of itself: /run/grove/status.json, written whole at every change, for a person at the console, the lab and the
// status page.
package status

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The files of the running system, below /run/grove. Reaped is PID 1's: how the last orphans ended, a line each: `123 exit code 0`. mongod is one after
// the agent that started it has died.
const (
	Dir      = "/run/grove"
	File     = Dir + "/status.json"
	AgentPID = Dir + "/agent.pid"
	Reaped   = Dir + "/reaped"
)

// Status is the whole page. Times are seconds since the kernel's start, as on the console; a node may not know the date.
type Status struct {
	Node      string   `json:"node"`
	NodeFrom  string   `json:"node_from"` // what gave the name: boot partition, fw_cfg, kernel command line, DHCP, MAC address
	Image     string   `json:"image"`
	Board     string   `json:"board"`
	Phase     string   `json:"phase"`     // starting, serving, waiting (for mongod to come back), degraded (no mongod), stopping
	Addresses []string `json:"addresses"` // 10.5.0.11/24
	Agent     Agent    `json:"agent"`
	Mongod    Mongod   `json:"mongod"`
	Set       Set      `json:"set"`
	State     State    `json:"state"`
	Storage   Storage  `json:"storage"`
	Tuning    Tuning   `json:"tuning"`
	Logs      Logs     `json:"logs"`
	Space     []Room   `json:"space"`
	Network   Network  `json:"network"`
	Clock     Clock    `json:"clock"`
	Firewall  Firewall `json:"firewall"`
	SSH       SSH      `json:"ssh"`
	Browse    string   `json:"browse"`   // address of the page for the data, empty when there is none
	Problems  []string `json:"problems"` // sentences; empty when all is well
	Updated   float64  `json:"updated"`
}

// Agent is the process that writes this.
type Agent struct {
	PID      int     `json:"pid"`
	Started  float64 `json:"started"`
	Restarts int     `json:"restarts"`
	RSS      int64   `json:"rss"` // bytes, when this was written
}

// Mongod is the server.
type Mongod struct {
	Version     string  `json:"version"`
	PID         int     `json:"pid"`   // 0 when it does not run
	State       string  `json:"state"` // absent, starting, ready, waiting, stopping, stopped
	Port        int     `json:"port"`
	Since       float64 `json:"since"` // of the state
	Restarts    int     `json:"restarts"`
	ReadyAfterS float64 `json:"ready_after_s"` // from its start to its first answer
	LastExit    string  `json:"last_exit"`
}

// State is the partition that stays.
type State struct {
	Device string `json:"device"` // empty when it is not mounted
	Size   int64  `json:"size"`   // bytes
	Free   int64  `json:"free"`
}

// Write replaces the file in one stroke: a reader sees the old or the new page.
func Write(file string, s Status) error {
	data, err := Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return Replace(file, data)
}

// Marshal gives the page as JSON, with lists of nothing where nothing is.
func Marshal(s Status) ([]byte, error) {
	if s.Addresses == nil {
		s.Addresses = []string{}
	}
	if s.Problems == nil {
		s.Problems = []string{}
	}
	if s.Space == nil {
		s.Space = []Room{}
	}
	s.Set.fill()
	s.Storage.fill()
	s.Tuning.fill()
	s.Network.fill()
	s.Clock.fill()
	s.Firewall.fill()
	s.SSH.fill()
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// Read gives the page that an earlier agent has left, the zero Status if there is none to be read.
func Read(file string) (s Status) {
	if data, err := os.ReadFile(file); err != nil || json.Unmarshal(data, &s) != nil {
		return Status{}
	}
	return s
}

// Replace writes a file in RAM that others read, whole or not at all.
func Replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
