package metrics

import (
	"slices"

	"grove/firstboot/status"
)

// arrays by node_exporter's names, of what the agent knows of them.
func arrays(to out, all []status.Array) {
	for _, a := range all {
		to.gauge("node_md_disks_required", "Disks that the array has in all.", float64(a.Disks), "device", a.Name)
		for state, n := range map[string]int{"active": a.Working, "failed": len(a.Faulty)} {
			to.gauge("node_md_disks", "Disks of the array by state.", float64(n), "device", a.Name, "state", state)
		}
		doing := map[string]string{"": "active", "recover": "recovering"}[a.Sync]
		if doing == "" {
			doing = a.Sync
		}
		for _, state := range []string{"active", "recovering", "resync", "check"} {
			to.gauge("node_md_state", "What the array does.", yes(state == doing), "device", a.Name, "state", state)
		}
		to.gauge("grove_array_degraded", "Whether the array lacks disks.", yes(a.Degraded), "array", a.Name)
		if a.Sync != "" {
			to.gauge("grove_array_sync_ratio", "How much of the array is synchronized.", a.Percent/100, "array", a.Name)
		}
	}
}

var (
	phases        = []string{"starting", "serving", "waiting", "degraded", "stopping"}
	storageStates = []string{"looking", "waiting", "making", "refused", "ready"}
	tunedStates   = []string{"set", "same", "absent", "refused", "waits"}
)

// setStates are the node's own on its way, memberStates those of the members that matter to an alarm.
var (
	setStates    = []string{"looking", "waiting", "founding", "joining", "member", "refused"}
	memberStates = []string{"primary", "secondary", "arbiter", "unreachable"}
)

// set is the replica set as this node sees it; a node without one has none of these.
func set(to out, s status.Set) {
	if s.Name == "" {
		return
	}
	for _, state := range setStates {
		to.gauge("grove_set_state", "Where the node is on its way into the set.", yes(s.State == state), "set", s.Name, "state", state)
	}
	to.gauge("grove_set_voters", "Members with a vote.", float64(s.Voters), "set", s.Name)
	to.gauge("grove_set_drift", "Differences between the set and the recipe.", float64(len(s.Drift)), "set", s.Name)
	for _, m := range s.Members {
		for _, state := range memberStates {
			to.gauge("grove_set_member", "What a member is.", yes(m.State == state), "set", s.Name, "member", m.Host, "state", state)
		}
		if m.Lag >= 0 {
			to.gauge("grove_set_member_lag_seconds", "How far a member is behind the primary.", m.Lag, "set", s.Name, "member", m.Host)
		}
	}
}

func agent(to out, s status.Status) {
	to.gauge("grove_node_info", "What this node is.", 1, "node", s.Node, "image", s.Image, "board", s.Board)
	to.counter("grove_agent_restarts_total", "Restarts of the agent since the node's start.", float64(s.Agent.Restarts))
	to.gauge("grove_problems", "Problems that the status page names.", float64(len(s.Problems)))
	for _, phase := range phases {
		to.gauge("grove_phase", "The node's phase.", yes(s.Phase == phase), "phase", phase)
	}
	if s.Storage.State != "" {
		for _, state := range storageStates {
			to.gauge("grove_storage_state", "What becomes of the data disks.", yes(s.Storage.State == state), "state", state)
		}
		to.gauge("grove_storage_refused", "Things that the node does not touch.", float64(len(s.Storage.Refused)))
	}
	set(to, s.Set)
	to.gauge("grove_clock_synced", "Whether a time server has set the clock not long ago.", yes(s.Clock.Synced))
	to.gauge("grove_clock_offset_seconds", "How far off the clock was when it was looked at last.", s.Clock.Offset)
	tuned := map[string]int{}
	for _, v := range s.Tuning.Values {
		tuned[v.State]++
	}
	for _, state := range tunedStates {
		to.gauge("grove_tuning_values", "Tuned values by what became of them.", float64(tuned[state]), "state", state)
	}
	to.gauge("grove_firewall_loaded", "Whether there are rules in the kernel.", yes(s.Firewall.State == "loaded"))
	to.counter("grove_ssh_refused_total", "Log-ins that were refused since the agent's start.", float64(s.SSH.Refused))
	for _, r := range s.Space {
		to.gauge("grove_space_low", "Whether a file system is nearly full.", yes(r.State != ""), "mountpoint", r.Mount)
	}
}

// mongod is what the agent knows of it without asking.
func mongod(to out, s status.Status) {
	to.gauge("mongodb_up", "Whether the MongoDB instance answers.", yes(s.Mongod.State == "ready"))
	to.gauge("mongodb_version_info", "Software version information for mongodb process.", 1, "mongodb", s.Mongod.Version)
	to.counter("grove_mongod_restarts_total", "Restarts of mongod since the node's start.", float64(s.Mongod.Restarts))
	to.gauge("grove_mongod_log_bytes", "Length of mongod's log.", float64(s.Logs.Size))
	faults := slices.DeleteFunc(slices.Clone(s.Tuning.Warnings), func(w status.Warning) bool { return w.Kind != "fault" })
	to.gauge("grove_mongod_tuning_faults", "Start-up warnings of mongod about what the node should have set.", float64(len(faults)))
}
