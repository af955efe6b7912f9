// A Go client that uses the package of oapi-codegen: it creates, lists and reads searches, and reads an error.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example.test/client/vigie"
)

func main() {
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-KEY", os.Args[2])
		return nil
	}
	client := must(vigie.NewClientWithResponses(os.Args[1], vigie.WithRequestEditorFn(withKey)))
	ctx := context.Background()

	budgetMax, roomMin, roomMax, name := int64(25500001), int64(5), int64(2), "Toulon"
	creation := vigie.SearchCreation{Title: "From Go", BudgetMax: &budgetMax, PropertyTypes: &[]int64{0, 1}}
	created := must(client.PostSearchesWithResponse(ctx, nil, creation))
	listed := must(client.GetSearchesWithResponse(ctx, nil))
	types := map[string]any{}
	for _, search := range listed.JSON200.HydraMember {
		types[search.Title] = search.PropertyTypes
	}
	cities := must(client.GetCitiesWithResponse(ctx, &vigie.GetCitiesParams{Name: &name}))
	invalid := vigie.SearchCreation{Title: "From Go", RoomMin: &roomMin, RoomMax: &roomMax}
	refused := must(client.PostSearchesWithResponse(ctx, nil, invalid))
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created":    created.StatusCode(),
		"budgetMax":  created.JSON201.BudgetMax,
		"types":      types,
		"city":       cities.JSON200.HydraMember[0].Name,
		"refused":    refused.StatusCode(),
		"violations": refused.ApplicationproblemJSON422.Violations[0].PropertyPath,
	}))
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
