package mongod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLastWords(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"an error before the last lines", `{"s":"E","msg":"DBException in initAndListen, terminating","attr":{"error":"DBPathInUse: another mongod"}}
{"s":"I","msg":"Now exiting"}
`, "DBException in initAndListen, terminating: DBPathInUse: another mongod"},
		{"an error with a document", `{"s":"F","msg":"Fatal","attr":{"error":{"code":28,"errmsg":"no space"}}}`, "Fatal: no space"},
		{"a fatal message in many lines", `{"s":"F","msg":"Writing fatal message","attr":{"message":"\nFileStreamFailed: no space left\nbacktrace"}}`, "Writing fatal message: FileStreamFailed: no space left"},
		{"an error of WiredTiger's", `{"s":"E","msg":"WiredTiger error message","attr":{"error":28,"message":{"msg":"__posix_file_write: No space left on device","error_str":"x"}}}`,
			"WiredTiger error message: __posix_file_write: No space left on device"},
		{"an error of the run before", `{"s":"E","msg":"old"}
{"s":"I","msg":"***** SERVER RESTARTED *****"}
{"s":"I","msg":"Waiting for connections"}`, "Waiting for connections"},
		{"nothing but the end", `{"s":"I","msg":"Shutting down","attr":{"exitCode":0}}`, "Shutting down"},
		{"a log of 3.2", "2026-11-30T22:00:00.000+0000 E STORAGE  [initandlisten] exception\n2026-11-30T22:00:00.100+0000 I CONTROL  [x] dbexit",
			"2026-11-30T22:00:00.000+0000 E STORAGE  [initandlisten] exception"},
		{"a loader's word", "mongod: error while loading shared libraries: libx.so", "mongod: error while loading shared libraries: libx.so"},
		{"an option that it does not know", "Unrecognized option: sekurity\ntry '/usr/bin/mongod --help' for more information\n", "Unrecognized option: sekurity"},
		{"a backtrace whose reason is cut off", "aborting\nBACKTRACE: {}\n  Frame: {\"s\":\"__clone\"}\n", "aborting"},
		{"an empty log", "", ""},
	} {
		if got := lastWords([]byte(c.log)); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestAFatalLineIsFoundBeforeItsBacktrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	text := `{"s":"F","msg":"Writing to log file failed, aborting application"}` + "\n" + strings.Repeat("  Frame: "+strings.Repeat("x", 900)+"\n", 40)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LastWords(file); got != "Writing to log file failed, aborting application" {
		t.Errorf("got %.80q", got)
	}
}

func TestLastWordsAreOfTheFileWrittenLast(t *testing.T) {
	log, out := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "out")
	for file, text := range map[string]string{log: "from the log", out: "from the loader"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(log, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := LastWords(log, out); got != "from the loader" {
		t.Errorf("got %q", got)
	}
	if got := LastWords(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("without a file: got %q", got)
	}
}
