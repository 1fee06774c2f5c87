package trial

import (
	"encoding/xml"
	"fmt"
	"os"
	"time"
)

// The elements of JUnit's report as CI servers read it: a suite a trial, a case a check, times in seconds.
type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Time     string   `xml:"time,attr"`
	Cases    []result `xml:"testcase"`
	Out      string   `xml:"system-out"`
}

type result struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *failure `xml:"failure"`
}

type failure struct {
	Message string `xml:"message,attr"`
}

// junit is the report's bytes.
func (v Verdict) junit() ([]byte, error) {
	s := suite{Name: fmt.Sprintf("%s, %s, %s disk", v.Image, v.Firmware, v.Bus), Tests: len(v.Checks), Time: seconds(v.Took)}
	for _, c := range v.Checks {
		one := result{Class: c.Node, Name: c.Name, Time: seconds(c.Took)}
		if c.Fault != "" {
			one.Failure = &failure{c.Fault}
			s.Failures++
		}
		s.Cases = append(s.Cases, one)
	}
	if v.Set != nil {
		s.Out += v.Set.String() + "\n"
	}
	for _, n := range v.Nodes {
		s.Out += fmt.Sprintf("%s: mongod %s, %s; console: %s\n", n.Name, n.Version, n.Times, n.Serial)
	}
	body, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("BUG: write JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(body, '\n')...), nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func (v Verdict) writeJUnit() error {
	text, err := v.junit()
	if err != nil {
		return err
	}
	if err := os.WriteFile(v.JUnit, text, 0o644); err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	return nil
}
