package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// query drains a query and returns its rows and how many pages they took.
func (a *account) query(ctx context.Context, pk azcosmos.PartitionKey, text string, o *azcosmos.QueryOptions) (rows []any, pages int, err error) {
	rows = []any{}
	pager := a.NewQueryItemsPager(text, pk, o)
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", text, err)
		}
		pages++
		for _, item := range page.Items {
			var row any
			if err := json.Unmarshal(item, &row); err != nil {
				return nil, 0, err
			}
			rows = append(rows, row)
		}
	}
	return rows, pages, nil
}

// sorted are rows of strings in order, as ranges answer in an order of theirs.
func sorted(rows []any) []string {
	all := []string{}
	for _, row := range rows {
		all = append(all, fmt.Sprint(row))
	}
	slices.Sort(all)
	return all
}

// fillFleet writes three documents for each of twenty drones, along a meridian.
func (a *account) fillFleet(ctx context.Context) error {
	for d := range 20 {
		for i := range 3 {
			body := fmt.Appendf(nil, `{"id":"d%d-%d","deviceId":"d%d","n":%d,"location":{"type":"Point","coordinates":[10,%d]}}`, d, i, d, i, d)
			if _, err := a.UpsertItem(ctx, key(fmt.Sprintf("d%d", d)), body, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func parameters(pairs ...any) *azcosmos.QueryOptions {
	o := &azcosmos.QueryOptions{}
	for i := 0; i < len(pairs); i += 2 {
		o.QueryParameters = append(o.QueryParameters, azcosmos.QueryParameter{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return o
}

func queryParameters(ctx context.Context, a *account) (any, error) {
	if err := a.fillFleet(ctx); err != nil {
		return nil, err
	}
	rows, _, err := a.query(ctx, azcosmos.NewPartitionKey(),
		`SELECT VALUE c.id FROM c WHERE STARTSWITH(c.deviceId, @prefix) AND c.n >= @n AND NOT ARRAY_CONTAINS(@without, c.deviceId)`,
		parameters("@prefix", "d1", "@n", 2, "@without", []string{"d1", "d15"}))
	return object{"ids": sorted(rows)}, err
}

func queryPaging(ctx context.Context, a *account) (any, error) {
	if err := a.fillFleet(ctx); err != nil {
		return nil, err
	}
	rows, pages, err := a.query(ctx, azcosmos.NewPartitionKey(), `SELECT VALUE c.id FROM c`, &azcosmos.QueryOptions{PageSizeHint: 7})
	ids := sorted(rows)
	return object{"rows": len(ids), "distinct": len(slices.Compact(ids)), "manyPages": pages >= 9}, err
}

func queryOneKey(ctx context.Context, a *account) (any, error) {
	if err := a.fillFleet(ctx); err != nil {
		return nil, err
	}
	seen := object{}
	for name, text := range map[string]string{
		"ordered":    `SELECT VALUE c.n FROM c ORDER BY c.n DESC`,
		"projection": `SELECT c.n, c.location.coordinates[1] AS lat FROM c WHERE c.n BETWEEN 1 AND 2 ORDER BY c.n`,
		"count":      `SELECT VALUE COUNT(1) FROM c WHERE c.n IN (0, 2)`,
		"undefined":  `SELECT VALUE c.n FROM c WHERE IS_DEFINED(c.missing) OR c.missing = null`,
	} {
		rows, _, err := a.query(ctx, key("d3"), text, nil)
		if err != nil {
			return nil, err
		}
		seen[name] = rows
	}
	return seen, nil
}

func spatial(ctx context.Context, a *account) (any, error) {
	if err := a.fillFleet(ctx); err != nil {
		return nil, err
	}
	near, _, err := a.query(ctx, azcosmos.NewPartitionKey(),
		`SELECT VALUE c.id FROM c WHERE c.n = 0 AND ST_DISTANCE(c.location, @here) < @metres`,
		parameters("@here", json.RawMessage(`{"type":"Point","coordinates":[10,0]}`), "@metres", 250_000))
	if err != nil {
		return nil, err
	}
	within, _, err := a.query(ctx, azcosmos.NewPartitionKey(), `SELECT VALUE c.id FROM c WHERE c.n = 0 AND ST_WITHIN(c.location, @area)`,
		parameters("@area", json.RawMessage(`{"type":"Polygon","coordinates":[[[9,4.5],[11,4.5],[11,8.5],[9,8.5],[9,4.5]]]}`)))
	if err != nil {
		return nil, err
	}
	far, _, err := a.query(ctx, key("d1"),
		`SELECT VALUE ST_DISTANCE(c.location, {"type":"Point","coordinates":[10,0]}) FROM c WHERE c.n = 0`, nil)
	if err != nil {
		return nil, err
	}
	if len(far) != 1 {
		return nil, fmt.Errorf("%d distances, want 1", len(far))
	}
	metres, _ := far[0].(float64)
	return object{"near": sorted(near), "within": sorted(within), "degreeInKilometres": math.Round(metres / 1000)}, nil
}

// digest is the text that both halves hash: the stored documents in order.
func digest(rows []any) string {
	var lines []string
	for _, row := range rows {
		doc, _ := row.(map[string]any)
		lines = append(lines, fmt.Sprintf("%v/%v/%v/%v\n", doc["deviceId"], doc["id"], doc["n"], doc["name"]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
