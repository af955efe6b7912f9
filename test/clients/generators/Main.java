import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.CityApi;
import org.openapitools.client.api.SearchApi;
import org.openapitools.client.model.ConstraintViolationList;
import org.openapitools.client.model.Search;
import org.openapitools.client.model.SearchCreation;

/** A Java client that uses the generated package: it creates, lists and reads searches, and reads an error. */
public class Main {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("X-API-KEY", args[1]));
    SearchApi searches = new SearchApi(client);

    SearchCreation creation = new SearchCreation().title("From Java").propertyTypes(List.of(0L, 1L)).budgetMax(25500001L);
    ApiResponse<Search> created = searches.postSearchesWithHttpInfo(creation, null);
    Map<String, Object> types = new LinkedHashMap<>();
    for (Search search : searches.getSearches(null, null, null, null, null, null, null, null, null, null, null).getHydraMember())
      types.put(search.getTitle(), search.getPropertyTypes());
    String city = new CityApi(client).getCities(null, null, "Toulon", null, null, null, null, null).getHydraMember().get(0).getName();
    Map<String, Object> print = new LinkedHashMap<>();
    print.put("created", created.getStatusCode());
    print.put("budgetMax", created.getData().getBudgetMax());
    print.put("types", types);
    print.put("city", city);
    ObjectMapper mapper = client.getObjectMapper();
    try {
      searches.postSearches(new SearchCreation().title("From Java").roomMin(5L).roomMax(2L), null);
    } catch (ApiException refused) {
      print.put("refused", refused.getCode());
      ConstraintViolationList list = mapper.readValue(refused.getResponseBody(), ConstraintViolationList.class);
      print.put("violations", list.getViolations().get(0).getPropertyPath());
    }
    System.out.println(new ObjectMapper().writeValueAsString(print));
  }
}
