// Package journal is what the agent was about to do to a disk, and whether it came to its end: one file a record, kept on the state partition.
//
// A record is on the medium before its act begins, so that after a loss of power half-finished work of ours can be told from somebody's data. It is written to
// a new file, synced, renamed, and the folder synced: without that a cut leaves files of no length (Flatcar, issue 1757).
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Record is one act. Nothing is ever taken out of the journal but by a person.
type Record struct {
	Number  int     `json:"number"` // from 1
	Kind    string  `json:"kind"`   // create array, make file system, ...
	Name    string  `json:"name"`   // a sentence without a subject
	Cluster string  `json:"cluster"`
	Node    string  `json:"node"`
	UUID    string  `json:"uuid,omitempty"` // of what is made
	Dev     string  `json:"dev"`            // what is made or written to, as it was called then
	Disks   []Disk  `json:"disks"`          // that are written to
	Began   float64 `json:"began"`          // seconds since the kernel's start, of that boot
	Done    bool    `json:"done"`
}

// Disk is a whole disk as it was known when the act began. Many virtual disks have no serial.
type Disk struct {
	Dev    string `json:"dev"`
	Serial string `json:"serial,omitempty"`
	Size   int64  `json:"size"` // bytes
}

// Journal is all records, the oldest first, with the folder that they are kept in.
type Journal struct {
	records []Record
	folder  string
}

// All gives the records.
func (j *Journal) All() []Record { return slices.Clone(j.records) }

// Read gives what is there; a folder that does not exist is a journal without records. A file that can't be read is an error: it may be the one that counts.
func Read(folder string) (*Journal, error) {
	j := &Journal{folder: folder}
	files, err := filepath.Glob(folder + "/[0-9]*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var r Record
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err == nil && file != j.file(r.Number) {
			err = fmt.Errorf("it holds number %d", r.Number)
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal, %s: %w", file, err)
		}
		j.records = append(j.records, r)
	}
	slices.SortFunc(j.records, func(a, b Record) int { return a.Number - b.Number })
	return j, nil
}

func (j *Journal) file(number int) string { return fmt.Sprintf("%s/%04d.json", j.folder, number) }

// Begin writes a record before its act, and gives its number.
func (j *Journal) Begin(r Record) (number int, err error) {
	r.Number, r.Done = 1, false
	if n := len(j.records); n > 0 {
		r.Number = j.records[n-1].Number + 1
	}
	if err := j.write(r); err != nil {
		return 0, err
	}
	j.records = append(j.records, r)
	return r.Number, nil
}

// End says that the act of a record came to its end.
func (j *Journal) End(number int) error {
	at := slices.IndexFunc(j.records, func(r Record) bool { return r.Number == number })
	if at < 0 {
		return fmt.Errorf("BUG: end record %d of the journal: there is none", number)
	}
	r := j.records[at]
	r.Done = true
	if err := j.write(r); err != nil {
		return err
	}
	j.records[at] = r
	return nil
}

func (j *Journal) write(r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(j.folder, 0o700)
	}
	if err == nil {
		err = Replace(j.file(r.Number), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write record %d of the journal: %w", r.Number, err)
	}
	return nil
}

// Replace writes a file that is whole on the medium when it returns, or is as it was. On a full disk nothing is left of the attempt.
func Replace(file string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(file+".new"))
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
