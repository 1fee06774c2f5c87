package warning

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const log32 = `2015-11-30T21:00:00.000+0000 I CONTROL  [initandlisten] ** WARNING: an older run's
2015-11-30T22:00:00.000+0000 I CONTROL  [main] ***** SERVER RESTARTED *****
2015-11-30T22:00:00.000+0000 I CONTROL  [initandlisten] MongoDB starting : pid=1 port=27017 dbpath=/data 64-bit host=db1
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten] ** WARNING: You are running this process as the root user, which is not recommended.
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten]
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten]
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten] ** WARNING: /sys/kernel/mm/transparent_hugepage/enabled is 'always'.
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten] **        We suggest setting it to 'never'
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten]
2015-11-30T22:00:00.100+0000 I CONTROL  [initandlisten] ** WARNING: soft rlimits too low. rlimits set to 7873 processes, 65536 files. Number of processes should be at least 32768 : 0.5 times number of files.
2015-11-30T22:00:00.200+0000 I NETWORK  [initandlisten] waiting for connections on port 27017
`

const log60 = `{"t":{"$date":"2026-12-01T03:59:40.000+00:00"},"s":"I",  "c":"CONTROL",  "id":20698,   "ctx":"-","msg":"***** SERVER RESTARTED *****"}
{"t":{"$date":"2026-12-01T03:59:41.197+00:00"},"s":"I",  "c":"STORAGE",  "id":22297,   "ctx":"initandlisten","msg":"Using the XFS filesystem is strongly recommended with the WiredTiger storage engine. See http://dochub.mongodb.org/core/prodnotes-filesystem","tags":["startupWarnings"]}
{"t":{"$date":"2026-12-01T03:59:41.991+00:00"},"s":"W",  "c":"CONTROL",  "id":22184,   "ctx":"initandlisten","msg":"Soft rlimits for open file descriptors too low","attr":{"currentValue":20000,"recommendedMinimum":64000},"tags":["startupWarnings"]}
{"t":{"$date":"2026-12-01T03:59:42.000+00:00"},"s":"I",  "c":"NETWORK",  "id":23016,   "ctx":"listener","msg":"Waiting for connections"}
`

func TestWarningsOfTheLastRunInALog(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      []string
	}{
		{"3.2", log32, []string{"You are running this process as the root user, which is not recommended.",
			"/sys/kernel/mm/transparent_hugepage/enabled is 'always'. We suggest setting it to 'never'",
			"soft rlimits too low. rlimits set to 7873 processes, 65536 files. Number of processes should be at least 32768 : 0.5 times number of files."}},
		{"6.0", log60, []string{"Using the XFS filesystem is strongly recommended with the WiredTiger storage engine. See http://dochub.mongodb.org/core/prodnotes-filesystem",
			"Soft rlimits for open file descriptors too low (currentValue 20000, recommendedMinimum 64000)"}},
		{"one run after another", log60 + strings.Split(log60, "\n")[0] + "\n", nil},
		{"none", "", nil},
	} {
		if diff := cmp.Diff(c.want, Texts(OfLog(c.log))); diff != "" {
			t.Errorf("%s: want - got +\n%s", c.name, diff)
		}
	}
}

// The texts are the servers' own: src/mongo/db/startup_warnings_{common,mongod}.cpp, storage/wiredtiger/wiredtiger_kv_engine.cpp of 3.0 to 8.0.
func TestExplained(t *testing.T) {
	sound := About{Profile: "mongodb", Filesystem: "xfs"}
	open := About{Profile: "mongodb", Filesystem: "ext4", Config: map[string]any{"security": map[string]any{"authorization": "disabled"},
		"storage": map[string]any{"engine": "mmapv1", "journal": map[string]any{"enabled": false}, "wiredTiger": map[string]any{"engineConfig": map[string]any{"cacheSizeGB": 55}}}}}
	classic := About{Profile: "classic-2015", Filesystem: "ext4"}
	const faulty, leaves = "Grove should have set ", "tuning profile classic-2015 leaves "
	for _, c := range []struct {
		text      string
		about     About
		kind, why string
	}{
		{"Using the XFS filesystem is strongly recommended with the WiredTiger storage engine. See http://dochub.mongodb.org/core/prodnotes-filesystem", classic, Explained, "the data is on ext4"},
		{"Using the XFS filesystem is strongly recommended with the WiredTiger storage engine", sound, Other, "the data is on xfs"},
		{"Access control is not enabled for the database. Read and write access to data and configuration is unrestricted", open, Explained, "the recipe says security.authorization: disabled"},
		{"Access control is not enabled for the database. Read and write access to data and configuration is unrestricted.", sound, Other, ""},
		{"The configured WiredTiger cache size is more than 80% of available RAM. See http://dochub.mongodb.org/core/faq-memory-diagnostics-wt", open, Explained, "the recipe sets storage.wiredTiger.engineConfig.cacheSizeGB"},
		{"The configured WiredTiger cache size is more than 80% of available RAM.", sound, Other, ""},
		{"This is a 32 bit MongoDB binary. 32 bit builds are limited to less than 2GB of data (or less with --journal).", sound, Explained, "the board's processor has 32 bits"},
		{"Support for MMAPV1 storage engine has been deprecated and will be", open, Explained, "the recipe says storage.engine: mmapv1"},
		{"This replica set node is running without journaling enabled but the writeConcernMajorityJournalDefault option to the replica set config is set to true.", open, Explained, "the recipe says storage.journal.enabled: false"},
		{"You are running this process as the root user, which is not recommended.", sound, Fault, faulty + "the user that mongod runs as"},
		{"/sys/kernel/mm/transparent_hugepage/enabled is 'always'. We suggest setting it to 'never'", sound, Fault, faulty + "transparent_hugepage/enabled"},
		{"/sys/kernel/mm/transparent_hugepage/enabled is 'always'. We suggest setting it to 'never' in this binary version", sound, Fault, faulty + "transparent_hugepage/enabled"},
		{"/sys/kernel/mm/transparent_hugepage/defrag is 'always'. We suggest setting it to 'never'", sound, Fault, faulty + "transparent_hugepage/defrag"},
		{"For customers running the tcmalloc-google memory allocator, we suggest setting the contents of sysfsFile to 'always' (currentValue madvise, sysfsFile /sys/kernel/mm/transparent_hugepage/enabled)", sound, Fault, faulty + "transparent_hugepage/enabled"},
		{"For customers running the updated tcmalloc-google memory allocator, we suggest setting the contents of sysfsFile to 'defer+madvise' (currentValue madvise, sysfsFile /sys/kernel/mm/transparent_hugepage/defrag)", classic, Explained, leaves + "transparent_hugepage/defrag"},
		{"For customers running the current memory allocator, we suggest changing the contents of the following sysfsFile", sound, Fault, faulty + "transparent_hugepage/enabled"},
		{"We suggest setting the contents of sysfsFile to 0. (currentValue 511, sysfsFile /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none)", sound, Fault, faulty + "transparent_hugepage/khugepaged/max_ptes_none"},
		{"Your system has glibc support for rseq built in, which is not yet supported by tcmalloc-google and has critical performance implications. Please set the environment variable GLIBC_TUNABLES=glibc.pthread.rseq=0", sound, Fault, faulty + "environment GLIBC_TUNABLES"},
		{"We suggest setting swappiness to 0 or 1, as swapping can cause performance problems. (currentValue 60, sysfsFile /proc/sys/vm/swappiness)", classic, Explained, leaves + "vm.swappiness"},
		{"We suggest setting swappiness to 0 or 1, as swapping can cause performance problems.", About{Profile: "mongodb", Own: []string{"vm.swappiness"}}, Explained, "the recipe or node.yaml sets vm.swappiness itself"},
		{"vm.max_map_count is too low (currentValue 65530, maxConns 52428, recommendedMinimum 104856)", classic, Explained, leaves + "vm.max_map_count"},
		{"vm.max_map_count is too low (currentValue 65530, maxConns 51200, recommendedMinimum 102400)", sound, Fault, faulty + "vm.max_map_count"},
		{"/proc/sys/vm/zone_reclaim_mode is 1 We suggest setting it to 0", sound, Fault, faulty + "vm.zone_reclaim_mode"},
		{"/proc/sys/vm/overcommit_memory is 2 Journaling works best with it set to 0 or 1", sound, Fault, faulty + "vm.overcommit_memory"},
		{"soft rlimits too low. Number of files is 256, should be at least 1000", sound, Fault, faulty + "limit nofile"},
		{"Soft rlimits for open file descriptors too low (currentValue 1024, recommendedMinimum 64000)", About{Profile: "none"}, Explained, "tuning profile none leaves limit nofile"},
		{"soft rlimits too low. The locked memory size is 65535 bytes, it should be at least 65536 bytes", sound, Fault, faulty + "limit nofile"},
		{"Soft rlimit for locked memory too low", sound, Fault, faulty + "limit nofile"},
		{"You are running on a NUMA machine. We suggest launching mongod like this to avoid performance problems: numactl --interleave=all mongod [other options]", sound, Fault, faulty + "NUMA interleaving"},
		{"Readahead for /data is set to 4096KB We suggest setting it to 256KB (512 sectors) or less", sound, Fault, faulty + "read-ahead"},
		{"mongod started without --replSet yet document(s) are present in local.system.replset", sound, Other, ""},
	} {
		got := Explain([]string{c.text}, c.about)[0]
		if got.Kind != c.kind || !strings.HasPrefix(got.Explanation, c.why) || c.why == "" && got.Explanation != "" {
			t.Errorf("%s\ngot  %s: %s\nwant %s: %s", c.text, got.Kind, got.Explanation, c.kind, c.why)
		}
	}
}
