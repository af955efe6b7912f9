// A Go client that uses the package of openapi-generator: it creates, lists and reads searches, and reads an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	vigie "example.test/vigie/client"
)

func main() {
	configuration := vigie.NewConfiguration()
	configuration.Servers = vigie.ServerConfigurations{{URL: os.Args[1]}}
	client := vigie.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), vigie.ContextAPIKeys, map[string]vigie.APIKey{"apiKey": {Key: os.Args[2]}})

	creation := vigie.NewSearchCreation("From Go")
	creation.SetTransactionType("0")
	creation.SetPropertyTypes([]int64{0, 1})
	creation.SetBudgetMax(25500001)
	created, answer, err := client.SearchAPI.PostSearches(ctx).SearchCreation(*creation).Execute()
	check(err)
	listed, _, err := client.SearchAPI.GetSearches(ctx).Execute()
	check(err)
	types := map[string]any{}
	for _, search := range listed.HydraMember {
		types[search.Title] = search.PropertyTypes
	}
	cities, _, err := client.CityAPI.GetCities(ctx).Name("Toulon").Execute()
	check(err)
	invalid := vigie.NewSearchCreation("From Go")
	invalid.SetRoomMin(5)
	invalid.SetRoomMax(2)
	_, refused, err := client.SearchAPI.PostSearches(ctx).SearchCreation(*invalid).Execute()
	var failure *vigie.GenericOpenAPIError
	if !errors.As(err, &failure) {
		check(fmt.Errorf("no error of the contract: %v", err))
	}
	violations := failure.Model().(vigie.ConstraintViolationList)
	print := map[string]any{
		"created":    answer.StatusCode,
		"budgetMax":  created.BudgetMax.Get(),
		"types":      types,
		"city":       cities.HydraMember[0].Name,
		"refused":    refused.StatusCode,
		"violations": violations.Violations[0].PropertyPath,
	}
	check(json.NewEncoder(os.Stdout).Encode(print))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
