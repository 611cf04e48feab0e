package cosmos

// ChargeModel says what operations cost, in request units. Every field may be
// set; [DefaultCharges] explains where the defaults come from.
type ChargeModel struct {
	// WriteBase, WritePerKB, PerIndexedValue and PerSpatialValue make up the
	// charge of inserting a document: a base, its size in KiB, the number of
	// scalar values that the indexing policy covers, and the values that a
	// spatial index covers.
	WriteBase       float64
	WritePerKB      float64
	PerIndexedValue float64
	PerSpatialValue float64

	// OverwriteFactor is how much more replacing a document costs than
	// inserting it. DeleteFactor is the same for deleting it.
	OverwriteFactor float64
	DeleteFactor    float64

	// ReadBase is the charge of a point read of up to 1 KiB, ReadPerKB that of
	// each further KiB.
	ReadBase  float64
	ReadPerKB float64

	// QueryBase is charged for every page of a query, QueryPerDocument for
	// every document on it, QueryPerScanned for every document looked at.
	QueryBase        float64
	QueryPerDocument float64
	QueryPerScanned  float64

	// Failed is the charge of an operation that a document or its etag refused
	// (404, 409, 412). Throttled is that of one refused for lack of request
	// units; it is reported but never taken from the budget.
	Failed    float64
	Throttled float64
}

// DefaultCharges is the model used unless another is given. Microsoft documents
// 1 RU for reading 1 KiB, about 5 RU for writing 1 KiB without indexes, 10 RU
// for reading 100 KiB, and that "replacing an item costs two times the charge
// required to insert the same item". The charge of an indexed value is fitted
// to published measurements of about 11 RU for a small document under the
// default indexing policy; that of a spatial value, and those of queries and of
// refusals, are guesses of the right order.
func DefaultCharges() ChargeModel {
	return ChargeModel{
		WriteBase:        4.2,
		WritePerKB:       0.7,
		PerIndexedValue:  0.4,
		PerSpatialValue:  1.0,
		OverwriteFactor:  2,
		DeleteFactor:     1,
		ReadBase:         1,
		ReadPerKB:        0.09,
		QueryBase:        2.3,
		QueryPerDocument: 0.1,
		QueryPerScanned:  0.002,
		Failed:           1.24,
		Throttled:        0.76,
	}
}

func (m *ChargeModel) insert(bytes, indexed, spatial int) float64 {
	return m.WriteBase + m.WritePerKB*float64(bytes)/1024 +
		m.PerIndexedValue*float64(indexed) + m.PerSpatialValue*float64(spatial)
}

func (m *ChargeModel) read(bytes int) float64 {
	return m.ReadBase + m.ReadPerKB*max(0, float64(bytes-1024)/1024)
}
