package geo

// flatten turns the members of a Feature (RFC 7946 section 3.2) into those of a
// flat object. What stands in properties outranks what stands beside them: a
// Feature's own id can as well be the id of a track.
func flatten(f *fields) {
	feature := *f
	*f = fields{}
	if len(feature.properties) > 0 && feature.properties[0] == '{' {
		_, _ = scanObject(feature.properties, 0, 0, f) // read as a value before: it is valid
	}
	f.deviceID = firstID(f.deviceID, feature.deviceID, feature.id)
	f.deliveryID = firstID(f.deliveryID, feature.deliveryID)
	if isNull(f.sensorType) {
		f.sensorType = feature.sensorType
	}
}

// firstID returns the first id that is not missing.
func firstID(ids ...[]byte) []byte {
	for _, id := range ids {
		if !isNull(id) && string(id) != `""` {
			return id
		}
	}
	return nil
}

// locateFeature reads a Point geometry (RFC 7946 section 3.1.2).
func locateFeature(p *Position, geometry []byte) error {
	if len(geometry) == 0 || geometry[0] != '{' {
		return errText("the Feature has no geometry")
	}
	var g fields
	_, _ = scanObject(geometry, 0, 0, &g) // read as a value before: it is valid
	if !isText(g.kind, "Point") {
		return errText("the geometry is no Point")
	}
	if len(g.coordinates) == 0 || g.coordinates[0] != '[' {
		return errText("the coordinates are no array")
	}
	return locateCoordinates(p, g.coordinates)
}

// locateCoordinates reads [longitude, latitude, altitude]. Altitude may be
// absent or null; further elements have no meaning and readers may ignore them
// (RFC 7946 section 3.1.1).
func locateCoordinates(p *Position, coordinates []byte) error {
	numbers := [3]float64{unknown, unknown, unknown}
	i := 0
	_, err := scanArray(coordinates, 0, 0, func(at int) (int, error) {
		end, err := scanValue(coordinates, at, 1)
		if err != nil {
			return end, err
		}
		if value := coordinates[at:end]; i < 2 || i == 2 && !isNull(value) {
			f, ok := number(value)
			if !ok || value[0] == '"' {
				return end, errText("a coordinate is no number")
			}
			numbers[i] = f
		}
		i++
		return end, nil
	})
	if err != nil {
		return err
	}
	if !finite(numbers[0]) || !finite(numbers[1]) {
		return errText("fewer than two coordinates")
	}
	p.Altitude = numbers[2]
	return p.place(numbers[0], numbers[1])
}
