package manifest

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"grove/internal/spec"
)

// The bill of materials in SPDX 2.3's JSON form (spdx-spec, v2.3, schemas/spdx-schema.json). What nobody looked at is NOASSERTION: licences and copyrights
// are in each Debian package.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []item         `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type item struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo,omitempty"`
	File      string     `json:"packageFileName,omitempty"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Checksums []checksum `json:"checksums,omitempty"`
	Concluded string     `json:"licenseConcluded"`
	Declared  string     `json:"licenseDeclared"`
	Copyright string     `json:"copyrightText"`
	Purpose   string     `json:"primaryPackagePurpose,omitempty"`
	Refs      []external `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// SPDX writes the bill of materials: what is in the image, and what built it.
func (m *Manifest) SPDX() ([]byte, error) { return encode("bill of materials", m.bill()) }

func (m *Manifest) bill() bill {
	const document = "SPDXRef-DOCUMENT"
	image := newItem("SPDXRef-Image", m.Image+".img", "", m.Digest.SHA256, "OPERATING-SYSTEM")
	b := bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: document, Name: m.Image,
		Namespace: "urn:uuid:" + spec.ID(m.Digest.SHA256, "spdx "+m.Grove),
		Creation:  creation{time.Unix(m.Time, 0).UTC().Format("2006-01-02T15:04:05Z"), []string{"Tool: grove-" + m.Grove}},
		Packages:  []item{image},
	}
	relate := func(from, kind, to string) { b.Relationships = append(b.Relationships, relationship{from, kind, to}) }
	relate(document, "DESCRIBES", image.ID)
	add := func(i item) string {
		i.ID = fmt.Sprintf("SPDXRef-%d-%s", len(b.Packages), letters(i.Name))
		b.Packages = append(b.Packages, i)
		return i.ID
	}
	inside, tools := m.items()
	for _, i := range inside {
		relate(image.ID, "CONTAINS", add(i))
	}
	for _, i := range tools {
		relate(add(i), "BUILD_TOOL_OF", image.ID)
	}
	return b
}

// items are mongod, the Go modules and the packages in the image, and the packages that built it.
func (m *Manifest) items() (inside, tools []item) {
	inside = []item{newItem("", "mongod", m.Mongod.Version, m.Mongod.SHA256, "APPLICATION")}
	for _, g := range m.Modules {
		i := newItem("", g.Path, g.Version, "", "LIBRARY")
		i.Refs = purl("pkg:golang/" + g.Path + "@" + escape(g.Version))
		inside = append(inside, i)
	}
	for _, p := range m.Packages {
		i := newItem("", p.Name, p.Version, p.SHA256, "")
		i.File = p.File
		i.Refs = purl(fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s", escape(p.Name), escape(p.Version), p.Arch, p.Suite))
		if p.Use == Tool {
			tools = append(tools, i)
		} else {
			inside = append(inside, i)
		}
	}
	return inside, tools
}

func newItem(id, name, version, sum, purpose string) item {
	const unknown = "NOASSERTION"
	i := item{ID: id, Name: name, Version: version, Location: unknown, Concluded: unknown, Declared: unknown, Copyright: unknown, Purpose: purpose}
	if sum != "" {
		i.Checksums = []checksum{{"SHA256", sum}}
	}
	return i
}

func purl(locator string) []external {
	return []external{{"PACKAGE-MANAGER", "purl", locator}}
}

// escape is what a purl wants of names and versions: g++ and 1:2.3 have characters of its own syntax.
func escape(s string) string {
	return strings.NewReplacer("+", "%2B", ":", "%3A").Replace(url.PathEscape(s))
}

// letters keeps what an SPDX id may have.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, s)
}
