package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"warmpath/internal/npm"
)

// packages are Microsoft's clients, at the versions the emulators are held to.
var packages = []string{
	"@azure/cosmos@4.10.1",
	"@azure/event-hubs@6.0.4",
	"@azure/eventhubs-checkpointstore-blob@2.0.0",
	"@azure/storage-blob@12.31.0",
}

// performJavaScript runs the JavaScript half of the script and returns what it
// reports.
func performJavaScript(ctx context.Context, to target) ([]outcome, error) {
	node, err := npm.Node()
	if err != nil {
		return nil, err
	}
	folder, err := npm.Install("conformance", packages...)
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, node, filepath.Join("javascript", "main.js"))
	command.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder, "node_modules"))
	command.Stdin = bytes.NewReader(settings) // not arguments, as there are keys in it
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("node: %w\n%s", err, stderr.Bytes())
	}
	var all []outcome
	for line := range bytes.Lines(output) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("node printed %q: %w", line, err)
		}
		all = append(all, o)
	}
	return all, nil
}
