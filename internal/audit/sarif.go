package audit

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
)

// SARIF writes the findings as SARIF 2.1.0 (OASIS standard of 27 March 2020),
// which code hosts show beside the build. Locations are relative to BUNDLE,
// the bundle's folder.
func (r *Report) SARIF(w io.Writer) error {
	r.sort()
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID                   string `json:"id"`
		ShortDescription     text   `json:"shortDescription"`
		DefaultConfiguration struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	type artifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	type physical struct {
		ArtifactLocation artifact `json:"artifactLocation"`
	}
	type location struct {
		PhysicalLocation physical `json:"physicalLocation"`
	}
	type result struct {
		RuleID    string     `json:"ruleId"`
		RuleIndex int        `json:"ruleIndex"`
		Level     string     `json:"level"`
		Message   text       `json:"message"`
		Locations []location `json:"locations"`
	}
	type driver struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	}
	type tool struct {
		Driver driver `json:"driver"`
	}
	type run struct {
		Tool               tool                `json:"tool"`
		OriginalURIBaseIDs map[string]artifact `json:"originalUriBaseIds"`
		ColumnKind         string              `json:"columnKind"`
		Results            []result            `json:"results"`
	}
	type log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}

	d := driver{Name: "stonemason"}
	rules := Rules()
	for _, f := range r.Findings {
		// A caller may add findings of rules of its own.
		if !slices.ContainsFunc(rules, func(k Rule) bool { return k.ID == f.Rule }) {
			rules = append(rules, Rule{ID: f.Rule, Severity: f.Severity, Summary: f.Rule})
		}
	}
	for _, k := range rules {
		entry := rule{ID: k.ID, ShortDescription: text{k.Summary}}
		entry.DefaultConfiguration.Level = sarifLevel(k.Severity)
		d.Rules = append(d.Rules, entry)
	}
	results := []result{}
	for _, f := range r.Findings {
		message := f.What
		if f.Fix != "" {
			message += ". Fix: " + f.Fix
		}
		results = append(results, result{
			RuleID:    f.Rule,
			RuleIndex: slices.IndexFunc(rules, func(k Rule) bool { return k.ID == f.Rule }),
			Level:     sarifLevel(f.Severity), Message: text{message},
			Locations: []location{{physical{artifact{URI: relativeURI(f.File), URIBaseID: "BUNDLE"}}}},
		})
	}
	base := url.URL{Scheme: "file", Path: filepath.ToSlash(r.Root) + "/"}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(log{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []run{{
			Tool:               tool{d},
			OriginalURIBaseIDs: map[string]artifact{"BUNDLE": {URI: base.String()}},
			ColumnKind:         "utf16CodeUnits",
			Results:            results,
		}},
	})
}

// relativeURI escapes a path. A name with a colon must not look like a scheme
// (RFC 3986, 4.2), which url.URL sees to.
func relativeURI(path string) string {
	u := url.URL{Path: path}
	return u.String()
}

// sarifLevel is a severity in SARIF's words (3.27.10).
func sarifLevel(s Severity) string {
	if s == Info {
		return "note"
	}
	return string(s)
}
