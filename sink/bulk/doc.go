// Package bulk writes documents to Azure Cosmos DB for NoSQL in bulk.
package bulk
