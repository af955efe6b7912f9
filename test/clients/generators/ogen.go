// A Go client that uses the package of ogen: it creates, lists and reads searches, and reads an error.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"example.test/client/vigie"
)

type key string

func (key key) ApiKey(context.Context, vigie.OperationName) (vigie.ApiKey, error) {
	return vigie.ApiKey{APIKey: string(key)}, nil
}

func main() {
	client := must(vigie.NewClient(os.Args[1], key(os.Args[2])))
	ctx := context.Background()

	creation := &vigie.SearchCreation{Title: "From Go"}
	creation.TransactionType.SetTo("0")
	creation.PropertyTypes.SetTo([]int64{0, 1})
	creation.BudgetMax.SetTo(25500001)
	created := must(client.PostSearches(ctx, creation, vigie.PostSearchesParams{})).(*vigie.PostSearchesApplicationJSONCreated)
	listed := must(client.GetSearches(ctx, vigie.GetSearchesParams{})).(*vigie.GetSearchesApplicationJSONOK)
	types := map[string]any{}
	for _, search := range listed.Response.HydraMember {
		types[search.Title] = json.RawMessage(search.PropertyTypes)
	}
	cities := must(client.GetCities(ctx, vigie.GetCitiesParams{Name: vigie.NewOptString("Toulon")}))
	invalid := &vigie.SearchCreation{Title: "From Go"}
	invalid.RoomMin.SetTo(5)
	invalid.RoomMax.SetTo(2)
	refused := must(client.PostSearches(ctx, invalid, vigie.PostSearchesParams{})).(*vigie.ConstraintViolationList)
	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"created":    http.StatusCreated,
		"budgetMax":  created.Response.BudgetMax.Value,
		"types":      types,
		"city":       cities.(*vigie.GetCitiesApplicationJSONOK).Response.HydraMember[0].Name,
		"refused":    refused.Status,
		"violations": refused.Violations[0].PropertyPath,
	}))
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
