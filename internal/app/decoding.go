package app

import (
	"errors"
	"strings"
	"unicode"

	"warmpath/geo"
)

// Decoding is how payloads are read. Every command that reads payloads embeds it.
type Decoding struct {
	SensorTypes     []string `help:"Values of sensorType that carry positions." default:"drone-event-sensor;v1" group:"Payloads"`
	MaxDecompressed int      `help:"Most bytes of one body after decompression." default:"8388608" group:"Payloads"`
	MaxPositions    int      `help:"Most positions of one event." default:"100000" group:"Payloads"`
	DeviceID        string   `name:"device-id" help:"Whose word on the device id counts when hub and body both have one. The hub knows who has connected; a body may say anything." enum:"hub,body" default:"hub" group:"Payloads"`
	Gateways        []string `help:"Patterns, such as gw-*, of devices that may speak for others. Modules always may." placeholder:"PATTERN" group:"Payloads"`

	MapDeviceID   string `name:"map-device-id" help:"JSON Pointer to the device id, such as /meta/serial, in payloads of another shape than the known ones. What is not mapped is found as without a mapping." placeholder:"POINTER" group:"Payloads"`
	MapDeliveryID string `name:"map-delivery-id" help:"JSON Pointer to the delivery id." placeholder:"POINTER" group:"Payloads"`
	MapLatitude   string `help:"JSON Pointer to the latitude; goes with --map-longitude." placeholder:"POINTER" group:"Payloads"`
	MapLongitude  string `help:"JSON Pointer to the longitude." placeholder:"POINTER" group:"Payloads"`
	MapAltitude   string `help:"JSON Pointer to the altitude." placeholder:"POINTER" group:"Payloads"`
	MapTime       string `help:"JSON Pointer to the device's time: RFC 3339, or seconds or milliseconds since 1970." placeholder:"POINTER" group:"Payloads"`
	MapSpeed      string `help:"JSON Pointer to the speed." placeholder:"POINTER" group:"Payloads"`
	MapHeading    string `help:"JSON Pointer to the heading." placeholder:"POINTER" group:"Payloads"`
	MapBattery    string `help:"JSON Pointer to the battery's charge." placeholder:"POINTER" group:"Payloads"`

	CoordinateUnit string `help:"Unit of latitude and longitude in JSON: deg, or a factor to degrees such as 1e-7." placeholder:"deg" group:"Payloads"`
	AltitudeUnit   string `help:"Unit of altitudes in JSON: m, cm, mm, ft or a factor to metres." placeholder:"m" group:"Payloads"`
	SpeedUnit      string `help:"Unit of speeds in JSON: m/s, cm/s, km/h, kn, mph or a factor to metres per second." placeholder:"m/s" group:"Payloads"`
	HeadingUnit    string `help:"Unit of headings in JSON: deg, cdeg or a factor to degrees." placeholder:"deg" group:"Payloads"`
	BatteryUnit    string `help:"Unit of charges in JSON: share, percent or a factor to a share of 1." placeholder:"share" group:"Payloads"`
}

// decoding is the settings as geo has them, for a container with the given
// partition key path.
func (d *Decoding) decoding(keyPath string) geo.Config {
	return geo.Config{
		KeyPath:         keyPath,
		SensorTypes:     d.SensorTypes,
		MaxDecompressed: d.MaxDecompressed,
		MaxPositions:    d.MaxPositions,
		DeviceID:        geo.DeviceIDPolicy(d.DeviceID),
		Gateways:        d.Gateways,
		Mapping: geo.Mapping{
			DeviceID:       d.MapDeviceID,
			DeliveryID:     d.MapDeliveryID,
			Latitude:       d.MapLatitude,
			Longitude:      d.MapLongitude,
			Altitude:       d.MapAltitude,
			Time:           d.MapTime,
			Speed:          d.MapSpeed,
			Heading:        d.MapHeading,
			Battery:        d.MapBattery,
			CoordinateUnit: geo.Unit(d.CoordinateUnit),
			AltitudeUnit:   geo.Unit(d.AltitudeUnit),
			SpeedUnit:      geo.Unit(d.SpeedUnit),
			HeadingUnit:    geo.Unit(d.HeadingUnit),
			BatteryUnit:    geo.Unit(d.BatteryUnit),
		},
	}
}

// validateDecoding names every setting that is wrong, its value and what is allowed.
func (d *Decoding) validateDecoding() error {
	c := d.decoding(geo.KeyPaths()[0])
	err := c.Validate()
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var errs []error
	for _, err := range several.Unwrap() {
		field, rest, _ := strings.Cut(err.Error(), " ")
		errs = append(errs, errors.New(flagOf(field)+" "+rest))
	}
	return errors.Join(errs...)
}

// flagOf returns the flag that sets a field of [geo.Config].
func flagOf(field string) string {
	field, mapped := strings.CutPrefix(field, "Mapping.")
	var flag strings.Builder
	flag.WriteString("--")
	if mapped && !strings.HasSuffix(field, "Unit") {
		flag.WriteString("map-")
	}
	small := false
	for _, r := range field {
		if unicode.IsUpper(r) && small {
			flag.WriteByte('-')
		}
		small = unicode.IsLower(r)
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}
