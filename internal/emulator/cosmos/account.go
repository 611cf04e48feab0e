package cosmos

import "net/http"

// serveAccount serves /: where the account can be reached. It answers with the
// address that the client itself used, which is the one address known to work.
func (s *Server) serveAccount(r *http.Request) *reply {
	if r.Method != http.MethodGet {
		return unsupported(r)
	}
	endpoint := s.Endpoint()
	if r.Host != "" {
		endpoint = "http://" + r.Host + "/"
	}
	type location struct {
		Name     string `json:"name"`
		Endpoint string `json:"databaseAccountEndpoint"`
	}
	here := []location{{"Local", endpoint}}
	return metadata(http.StatusOK, map[string]any{
		"_self":                        "",
		"id":                           "local",
		"_rid":                         "local.documents.azure.com",
		"media":                        "//media/",
		"addresses":                    "//addresses/",
		"_dbs":                         "//dbs/",
		"writableLocations":            here,
		"readableLocations":            here,
		"enableMultipleWriteLocations": false,
		"userReplicationPolicy":        map[string]any{"asyncReplication": false, "minReplicaSetSize": 1, "maxReplicasetSize": 4},
		"userConsistencyPolicy":        map[string]any{"defaultConsistencyLevel": "Session"},
		"systemReplicationPolicy":      map[string]any{"minReplicaSetSize": 1, "maxReplicasetSize": 4},
		"readPolicy":                   map[string]any{"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
		"queryEngineConfiguration":     `{"maxSqlQueryInputLength":262144,"maxJoinsPerSqlQuery":0,"enableSpatialIndexing":true}`,
	}, "")
}
