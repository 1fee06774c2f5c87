package mongoconf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"grove/internal/diag"
)

// option is one setting of mongod's file, with the first server that has it and the first that has not; empty where that is not within 3.0 to newest. kind is b (true or
// false), i (whole number), n (number), s (text or number), l (list), t (whatever is below it, which is not looked at).
type option struct{ key, kind, since, until string }

// newest is the last server whose settings are all here. Of a later one an unknown setting is let through, unless it looks like a misspelt one: mongod judges it.
const newest = "8.0"

// options are what mongod of 3.0 to 8.0 knows on Linux, Enterprise's too (security.kmip, ldap, auditLog, ...), as its own tables have them: src/mongo/db/mongod_options*.{cpp,idl},
// server_options*.{cpp,idl}, util/net/ssl_options*.{cpp,idl}, storage/wiredtiger/wiredtiger_global_options.{cpp,idl}. Those of 6.0 are compared with the server itself (accept, a3.options).
const options = `
systemLog: verbosity=i quiet=b traceAllExceptions=b syslogFacility=s path=s logAppend=b logRotate=s destination=s timeStampFormat=s component=t
processManagement: fork=b pidFilePath=s timeZoneInfo=s,3.6
net: port=i bindIp=s bindIpAll=b,3.6 maxIncomingConnections=i maxIncomingConnectionsOverride=l,3.6 reservedAdminThreads=i,3.6 wireObjectCheck=b ipv6=b listenBacklog=i,3.6
net: serviceExecutor=s,3.6,5.0 transportLayer=s,3.6
net.unixDomainSocket: enabled=b pathPrefix=s filePermissions=i
net.http: enabled=b,,3.6 port=i,,3.6 JSONPEnabled=b,,3.6 RESTInterfaceEnabled=b,,3.6
net.compression: compressors=s,3.4
net.ssl: mode=s PEMKeyFile=s PEMKeyPassword=s clusterFile=s clusterPassword=s CAFile=s clusterCAFile=s,4.0 CRLFile=s allowConnectionsWithoutCertificates=b weakCertificateValidation=b
net.ssl: allowInvalidCertificates=b allowInvalidHostnames=b disabledProtocols=s FIPSMode=b sslCipherConfig=s
net.tls: mode=s,4.2 certificateKeyFile=s,4.2 certificateKeyFilePassword=s,4.2 clusterFile=s,4.2 clusterPassword=s,4.2 CAFile=s,4.2 clusterCAFile=s,4.2 CRLFile=s,4.2
net.tls: allowConnectionsWithoutCertificates=b,4.2 weakCertificateValidation=b,4.2 allowInvalidCertificates=b,4.2 allowInvalidHostnames=b,4.2 disabledProtocols=s,4.2
net.tls: FIPSMode=b,4.2 logVersions=s,4.2 tlsCipherConfig=s,4.2 clusterAuthX509=t,7.0
security: keyFile=s clusterAuthMode=s authorization=s transitionToAuth=b,3.4 javascriptEnabled=b authSchemaVersion=s enableLocalhostAuthBypass=s authenticationMechanisms=l
security: redactClientLogData=b,3.4 clusterIpSourceWhitelist=l,3.6 clusterIpSourceAllowlist=l,5.0 enableEncryption=b,3.2 encryptionCipherMode=s,3.2 encryptionKeyFile=s,3.2
security: kmip=t,3.2 ldap=t,3.4
security.sasl: hostName=s serviceName=s saslauthdSocketPath=s
storage: dbPath=s indexBuildRetry=b,,4.4 repairPath=s,,4.2 directoryPerDB=b syncPeriodSecs=n engine=s queryableBackupMode=b,3.4 groupCollections=b,3.6 oplogMinRetentionHours=n,4.4
storage: preallocDataFiles=b,,4.2 nsSize=i,,4.2 smallFiles=b,,4.2
storage.quota: enforced=b,,4.2 maxFilesPerDB=i,,4.2
storage.journal: enabled=b,,6.1 commitIntervalMs=i debugFlags=i,,4.2
storage.mmapv1: preallocDataFiles=b,,4.2 nsSize=i,,4.2 smallFiles=b,,4.2
storage.mmapv1.quota: enforced=b,,4.2 maxFilesPerDB=i,,4.2
storage.mmapv1.journal: debugFlags=i,,4.2 commitIntervalMs=i,,4.2
storage.wiredTiger.engineConfig: cacheSizeGB=n statisticsLogDelaySecs=i journalCompressor=s directoryForIndexes=b configString=s maxCacheOverflowFileSizeGB=n,3.6 zstdCompressionLevel=i,5.0
storage.wiredTiger.collectionConfig: blockCompressor=s configString=s
storage.wiredTiger.indexConfig: prefixCompression=b configString=s
storage.inMemory.engineConfig: inMemorySizeGB=n,3.2
operationProfiling: mode=s slowOpThresholdMs=i slowOpSampleRate=n,3.6 filter=s,4.4
replication: oplogSizeMB=i replSetName=s secondaryIndexPrefetch=s,,4.2 enableMajorityReadConcern=b,3.2
sharding: clusterRole=s archiveMovedChunks=b _overrideShardIdentity=s,3.6
cloud.monitoring.free: state=s,4.0,8.0 tags=s,4.0,8.0
: setParameter=t auditLog=t snmp=t
`

// table is options by their paths, and the sections above them.
func table() (all map[string]option, sections map[string]bool) {
	all, sections = map[string]option{}, map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(options)) {
		section, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		for above := section; above != ""; above = above[:max(strings.LastIndex(above, "."), 0)] {
			sections[above] = true
		}
		for _, word := range strings.Fields(rest) {
			name, form, _ := strings.Cut(word, "=")
			words := append(strings.Split(form, ","), "", "")
			key := strings.TrimPrefix(section+"."+name, ".")
			all[key] = option{key, words[0], words[1], words[2]}
		}
	}
	return all, sections
}

// Known tells of each setting whether a server of this version has it, and what a value of it looks like, as YAML.
func Known(version string) map[string]string {
	like := map[string]string{"b": "true", "i": "1", "n": "1.5", "s": "text", "l": "[text]", "t": "{}"}
	all, _ := table()
	known := map[string]string{}
	for key, o := range all {
		if o.missing(version) == "" {
			known[key] = like[o.kind]
		}
	}
	return known
}

// missing says why a server does not have the setting, "" if it has.
func (o option) missing(version string) string {
	switch {
	case o.since != "" && older(version, o.since):
		return fmt.Sprintf("comes with mongod %s only, and this is %s", o.since, version)
	case o.until != "" && !older(version, o.until):
		return fmt.Sprintf("is gone since mongod %s, and this is %s", o.until, version)
	}
	return ""
}

// walk goes through a recipe's tree and finds what the server would not take.
type walk struct {
	version  string
	options  map[string]option
	sections map[string]bool
	found    Refusals
}

// strangers are the settings that a server of this version does not know, or not with such a value: it would not start with them.
func strangers(version string, recipe map[string]any) Refusals {
	w := walk{version: version}
	w.options, w.sections = table()
	w.tree("", recipe)
	return w.found
}

func (w *walk) refuse(key, format string, values ...any) {
	w.found = append(w.found, Refusal{key, fmt.Sprintf(format, values...)})
}

func (w *walk) tree(above string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		key, value := strings.TrimPrefix(above+"."+name, "."), plain(tree[name])
		below, isTree := value.(map[string]any)
		o, isOption := w.options[key]
		switch {
		case strings.Contains(name, "."):
			w.refuse(key, "want one level a key, %s", strings.ReplaceAll(name, ".", ": {")+": ..."+strings.Repeat("}", strings.Count(name, ".")))
		case w.sections[key] && !isTree, isOption && o.kind == "t" && !isTree:
			w.refuse(key, "want settings below it, have %v", shown(value))
		case w.sections[key]:
			w.tree(key, below)
		case !isOption:
			w.stranger(above, name, key)
		case o.missing(w.version) != "":
			w.refuse(key, "%s", o.missing(w.version))
		default:
			w.value(o, value)
		}
	}
}

// stranger suggests a name of the same level, else the place of one of that name.
func (w *walk) stranger(above, name, key string) {
	var beside, elsewhere []string
	for _, known := range append(slices.Sorted(maps.Keys(w.options)), slices.Sorted(maps.Keys(w.sections))...) {
		at := strings.LastIndex(known, ".")
		if known[:max(at, 0)] == above {
			beside = append(beside, known[at+1:])
		} else if known[at+1:] == name {
			elsewhere = append(elsewhere, known)
		}
	}
	meant := diag.Meant(name, beside)
	if meant == "" && len(elsewhere) > 0 {
		meant = fmt.Sprintf("; did you mean %q?", elsewhere[0])
	}
	if meant != "" || !older(newest, w.version) {
		w.refuse(key, "is no setting of mongod's%s", meant)
	}
}

func (w *walk) value(o option, value any) {
	kinds := map[string]string{"b": "true or false", "i": "a whole number", "n": "a number", "s": "a text", "l": "a list"}
	is := ""
	switch value.(type) {
	case bool:
		is = "bs"
	case int64:
		is = "ins"
	case float64:
		is = "ns"
	case string:
		is = "s"
	case []any:
		is = "l"
	}
	if o.kind != "t" && !strings.Contains(is, o.kind) {
		w.refuse(o.key, "want %s, have %v", kinds[o.kind], shown(value))
	}
}

func shown(value any) any {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case nil:
		return "nothing"
	}
	return value
}
