// Checks that a dashboard is one for Grafana: every field of it, its panels and its queries is known, and has a value that Grafana allows.
//
// dashboard FILE
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plugins.RegisterDefaultPlugins()
	read := dashboard.NewDashboard()
	// A list of errors, which may be empty.
	var found cog.BuildErrors
	if err := read.UnmarshalJSONStrict(text); err != nil && (!errors.As(err, &found) || len(found) > 0) {
		return err
	}
	return read.Validate()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboard FILE")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "dashboard: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
