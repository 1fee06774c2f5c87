package warning

import (
	"fmt"
	"regexp"
	"strings"

	"grove/firstboot/status"
)

// About is what a node is told to be, as far as a warning may follow from it.
type About struct {
	Profile    string         // of tuning
	Own        []string       // names of the tuning values that a person sets instead
	Filesystem string         // of the data: ext4, xfs
	Config     map[string]any // mongod.config of the recipe
}

// The kinds, in the words of the status page.
const (
	Fault     = "fault"
	Explained = "explained"
	Other     = "other"
)

// tuned are warnings about what profile mongodb sets, with the name of the value.
var tuned = []struct{ pattern, value string }{
	{`transparent_hugepage/enabled|setting the contents of sysfsFile to '(always|never)'`, "transparent_hugepage/enabled"},
	{`transparent_hugepage/defrag|sysfsFile to 'defer\+madvise'`, "transparent_hugepage/defrag"},
	{`max_ptes_none|setting the contents of sysfsFile to 0`, "transparent_hugepage/khugepaged/max_ptes_none"},
	{`transparent Huge Pages|following sysfsFile`, "transparent_hugepage/enabled"},
	{`(?i)swappiness`, "vm.swappiness"},
	{`max_map_count`, "vm.max_map_count"},
	{`zone_reclaim_mode`, "vm.zone_reclaim_mode"},
	{`overcommit_memory`, "vm.overcommit_memory"},
	{`(?i)rlimits? too low|rlimits? .*(files|processes)|open file descriptors too low|locked memory`, "limit nofile"},
	{`getrlimit failed`, "limit nofile"},
	{`(?i)rseq|per-CPU caches`, "environment GLIBC_TUNABLES"},
	{`(?i)readahead`, "read-ahead"},
	{`NUMA`, "NUMA interleaving"},
	{`root user`, "the user that mongod runs as"},
}

// follows are warnings that a setting of the recipe's brings, or the machine itself; what is empty is true of any.
var follows = []struct{ pattern, key, value, why string }{
	{`Access control is not enabled`, "security.authorization", "disabled", "the recipe says security.authorization: disabled"},
	{`cache size is (set to )?more than`, "storage.wiredTiger.engineConfig.cacheSizeGB", "", "the recipe sets storage.wiredTiger.engineConfig.cacheSizeGB"},
	{`bound to localhost`, "net.bindIp", "", "the recipe sets net.bindIp"},
	{`MMAPV1 storage engine|MMAPV1`, "storage.engine", "mmapv1", "the recipe says storage.engine: mmapv1"},
	{`(?i)certificate validation|hostname validation|invalid X509`, "net", "", "the recipe sets net.tls or net.ssl so"},
	{`(?i)journaling (is )?(off|disabled)|without journaling`, "storage.journal.enabled", "false", "the recipe says storage.journal.enabled: false"},
	{`32 bit MongoDB binary`, "", "", "the board's processor has 32 bits"},
	{`operating system version does not support .* page faults`, "", "", "it is of MMAPv1 on this kernel, and slows down nothing else"},
}

// Explain sorts warnings: what the node should have set is a fault of Grove's, unless another profile or a person's own value stands in for it.
func Explain(texts []string, a About) []status.Warning {
	all := make([]status.Warning, 0, len(texts))
	for _, text := range texts {
		kind, why := a.explain(text)
		all = append(all, status.Warning{Text: text, Kind: kind, Explanation: why})
	}
	return all
}

func (a About) explain(text string) (kind, why string) {
	if strings.Contains(text, "XFS filesystem is strongly recommended") {
		if a.Filesystem == "xfs" {
			return Other, "the data is on xfs"
		}
		return Explained, fmt.Sprintf("the data is on %s, as the recipe has it; storage.filesystem: xfs is MongoDB's advice", a.Filesystem)
	}
	for _, f := range follows {
		if regexp.MustCompile(f.pattern).MatchString(text) && a.has(f.key, f.value) {
			return Explained, f.why
		}
	}
	for _, t := range tuned {
		if !regexp.MustCompile(t.pattern).MatchString(text) {
			continue
		}
		for _, own := range a.Own {
			if own == t.value {
				return Explained, "the recipe or node.yaml sets " + own + " itself"
			}
		}
		if a.Profile != "mongodb" {
			return Explained, fmt.Sprintf("tuning profile %s leaves %s so; profile mongodb sets it", a.Profile, t.value)
		}
		return Fault, "Grove should have set " + t.value
	}
	return Other, ""
}

// has tells whether the recipe sets a key, to this value if one is given.
func (a About) has(key, want string) bool {
	if key == "" {
		return true
	}
	var v any = a.Config
	for _, name := range strings.Split(key, ".") {
		tree, _ := v.(map[string]any)
		var found bool
		if v, found = tree[name]; !found {
			return false
		}
	}
	return want == "" || fmt.Sprint(v) == want
}
